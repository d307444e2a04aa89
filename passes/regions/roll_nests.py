"""`roll-nests`: equal blocks of a network of convolutions become a `control.repeat`.

`roll-layers` leaves out what holds convolutions, as layouts are chosen for a program as a whole.
Behind layouts and Winograd tiles, which are written into nests by then, runs of equal nests become
regions here: packing and fusion go through each once, and `unroll-layers` writes the calls of its
kernels out. Regions begin where kernels mostly begin anyway, at a sum of products or at what is
materialized for one, such as a padded image; of those that repeat where the fewest elements are
handed on. So the residual sum and the activation in front of it end the region before.

What `hoist-constants` moves out of the program, such as folded batch norms, is no part of a region,
but an operand of each step. What is larger than the constants that it is made of, such as a bias
for each pixel, is made where it is read, and thus in the region.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.dialects.control.repeat import MOST_TIMES
from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import is_contraction
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.records import record
from lamina.passes.contracts.argument_sizes import has_open_sizes
from lamina.passes.cost.fusion_limits import LEAST_BLOCKS, LEAST_LAYER_ELEMENTS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.fusion.outline_kernels import known_attribute, structure
from lamina.passes.loop.hoist_constants import constant_ops
from lamina.passes.regions.layer_regions import roll
from lamina.passes.regions.layer_sources import Layers, elements_of
from lamina.passes.regions.outline_regions import REGION
from lamina.passes.regions.repetitions import Repetition, is_static, repetitions


@record
class RollNestsPass(ModulePass):
    """Equal runs of nests become steps of one region.

    `least_blocks` of them, at least, whose products read `least_elements` elements each.
    """

    name = "roll-nests"

    least_blocks: int = LEAST_BLOCKS
    least_elements: int = LEAST_LAYER_ELEMENTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.least_blocks < 2:
            raise InputError(f"roll-nests: least_blocks = {self.least_blocks}: 2 or more")
        for function in defined_functions(op):
            if REGION not in function.attributes and not has_open_sizes(function):
                self._roll_all(function)

    def _roll_all(self, function: func.FuncOp) -> None:
        prepared, _ = constant_ops(function)
        ops = [op for op in block_ops(function.body.block) if op not in prepared]
        rolled: list[Repetition] = []
        for found in repetitions(ops, self.least_blocks, _signature):
            if not any(_overlap(found, other) for other in rolled):
                layers = (NestLayers(ops, start, ()) for start in self._starts(ops, found))
                first = next((layer for layer in layers if layer.matches()), None)
                if first is not None:
                    roll(first)
                    rolled.append(first.repetition)

    def _starts(self, ops: Sequence[Operation], found: Repetition) -> list[Repetition]:
        """The repetition from each nest on at which a region may begin, if it has enough steps
        left; those whose steps hand on the fewest elements first."""
        period = ops[found.first : found.first + found.period]
        products = [op for op in period if isinstance(op, GenericOp) and is_contraction(op)]
        if not products or sum(map(_read_elements, products)) < self.least_elements:
            return []
        begins = {*products, *(op for op in period if MATERIALIZED in op.attributes)}
        shifted = (found.shifted(shift) for shift, op in enumerate(period) if op in begins)
        starts = [s for s in shifted if self.least_blocks <= s.steps <= MOST_TIMES]
        return sorted(starts, key=lambda start: _handed_on(ops, start))


class NestLayers(Layers):
    """Equal runs of nests, which make all that they read, but for what is prepared."""

    def matches(self) -> bool:
        """Whether the steps compute the same, read alike, and hand something on."""
        r = self.repetition
        for place in range(r.period):
            first = structure(self.op(0, place))
            if any(structure(self.op(step, place)) != first for step in range(1, r.steps)):
                return False
        return super().matches() and not self.outside

    def _costs(self, op: Operation) -> bool:
        return False  # what is worth being made once is made by the setup


def _overlap(one: Repetition, other: Repetition) -> bool:
    ends = [r.first + r.covered + r.begun for r in (one, other)]
    return one.first < ends[1] and other.first < ends[0]


def _handed_on(ops: Sequence[Operation], start: Repetition) -> int:
    """Elements that the second step reads of the first one."""
    second = start.first + start.period
    readers = set(ops[second : second + start.period])
    made = (result for op in ops[start.first : second] for result in op.results)
    return sum(elements_of(v) for v in made if any(use.operation in readers for use in v.uses))


def _read_elements(op: Operation) -> int:
    return sum(map(elements_of, op.operands))


def _signature(op: Operation) -> Hashable:
    """The same for nests that are equal but for operands and bodies; other ops equal no other."""
    kinds = [value.type for value in (*operands_of(op), *op.results)]
    if not isinstance(op, GenericOp | ReshapeOp) or not all(map(is_static, kinds)):
        return op
    held = [(n, op.properties[n]) for n in sorted(op.properties)]
    held += [(n, op.attributes[n]) for n in sorted(op.attributes)]
    named = tuple([(name, known_attribute(value)) for name, value in held])
    return op.name, named, tuple(map(known_attribute, kinds))
