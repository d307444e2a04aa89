"""`roll-layers`: equal layers of a network become a `control.repeat`, which is compiled as one.

A transformer of twelve layers says the same ops twelve times, on other weights. Where runs of ops
are equal and each reads what the run in front of it made, the same tensors, or tensors of its own,
they are one region, which goes through all passes once; `unroll-layers` writes the calls of its
kernels out again.

Nothing is fused over the edge of a region. So layers begin where kernels do anyway: at a product,
of those that repeat the one in front of which the fewest elements are handed on. What a layer makes
before anything is handed to it stays outside if it costs something, and masks and the like that are
made for all layers are made in each, where readers make them again for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.control.repeat import MOST_TIMES
from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.records import record
from lamina.dialects.schema.effects import IMPURE_TAGS
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.contracts.entry_attributes import constants_of
from lamina.passes.cost.fusion_limits import LEAST_LAYER_ELEMENTS, LEAST_LAYERS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.regions.layer_regions import roll
from lamina.passes.regions.layer_sources import PRODUCTS, Layers, elements_of
from lamina.passes.regions.repetitions import Repetition, repetitions

LAID_OUT = ("conv", "pool", "batch_norm", "upsample")
"""Parts of names of ops whose layouts are chosen for a whole program: they stay in it."""

NO_DRAWS = {"train": False, "training": False, "dropout_p": 0.0}
"""Arguments, with values that tell an op to draw no random numbers."""


@record
class RollLayersPass(ModulePass):
    """Equal layers become steps of one region.

    `least_layers` of them, at least, whose products read `least_elements` elements each.
    """

    name = "roll-layers"

    least_layers: int = LEAST_LAYERS
    least_elements: int = LEAST_LAYER_ELEMENTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.least_layers < 2:
            raise InputError(f"roll-layers: least_layers = {self.least_layers}: 2 or more")
        for function in defined_functions(op):
            while self._roll_one(function):
                pass

    def _roll_one(self, function: func.FuncOp) -> bool:
        """Whether a repetition of a function has become one op."""
        ops = block_ops(function.body.block)
        constants: set[SSAValue] | None = None
        for found in repetitions(ops, self.least_layers):
            starts = list(self._starts(ops, found))
            if starts and constants is None:
                constants = _constants(function, ops)
            layers = [Layers(ops, start, constants or set()) for start in starts]
            layers = [layer for layer in layers if layer.matches()]
            if layers:
                roll(min(layers, key=lambda layer: layer.handed_on))
                return True
        return False

    def _starts(self, ops: Sequence[Operation], found: Repetition) -> Iterator[Repetition]:
        """The repetition from each of its products on, if it has enough layers left."""
        period = ops[found.first : found.first + found.period]
        if sum(map(_read_elements, period)) < self.least_elements:
            return
        if not all(map(_may_repeat, period)):
            return
        for shift, op in enumerate(period):
            shifted = found.shifted(shift)
            if op.name in PRODUCTS and self.least_layers <= shifted.steps <= MOST_TIMES:
                yield shifted


def _constants(function: func.FuncOp, ops: Iterable[Operation]) -> set[SSAValue]:
    """Constant arguments, and what is made of such alone."""
    known: set[SSAValue] = set(constants_of(function))
    for op in ops:
        if not op.regions and all(operand in known for operand in op.operands):
            known.update(op.results)
    return known


def _may_repeat(op: Operation) -> bool:
    """Whether it draws no random numbers, changes nothing, and its layout is not the program's."""
    if not isinstance(op, SchemaOp) or any(part in op.name for part in LAID_OUT):
        return False
    return not op.schema.mutates and (not op.schema.tags & IMPURE_TAGS or _draws_nothing(op))


def _draws_nothing(op: SchemaOp) -> bool:
    """Whether an op that may draw random numbers is told not to."""
    told = [name for name in NO_DRAWS if op.schema.arg(name) is not None]
    return any(op.arg(name) == NO_DRAWS[name] for name in told)


def _read_elements(op: Operation) -> int:
    """Elements that a product reads; none of other ops."""
    return sum(map(elements_of, op.operands)) if op.name in PRODUCTS else 0
