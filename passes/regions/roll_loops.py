"""`roll-loops`: steps that a program has written out become a `control.scan`.

A loop over the time steps of a recurrent cell, in Python, is thousands of ops in the program. Where
runs of ops are equal and each step reads what the one in front of it made, the same tensors, or the
next element of one, they are one region, which is compiled once whatever the number of steps. What
a step makes for ops behind the loop is stacked, or the last that is carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.control import ScanOp, YieldOp
from lamina.dialects.control.scan import stacked
from lamina.dialects.errors import InputError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.records import record
from lamina.passes.cost.fusion_limits import LEAST_LONG_STEPS, LEAST_STEPS, MANY_OPS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.regions.collected_steps import (
    erase_unread,
    inserted,
    moved,
    read_elements,
    read_whole,
)
from lamina.passes.regions.repetitions import (
    INDEX_ARGUMENTS,
    Carried,
    Element,
    Made,
    Repetition,
    Steps,
    element_of,
    repetitions,
)


@dataclass(frozen=True)
class RollLoopsPass(ModulePass):
    """Repeated ops that hand values on become scans.

    `least_steps` of them, at least, or fewer that are `many_ops` together; others stay as they are.
    """

    name = "roll-loops"

    least_steps: int = LEAST_STEPS
    many_ops: int = MANY_OPS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.least_steps < 2:
            raise InputError(f"roll-loops: least_steps = {self.least_steps}: 2 or more")
        for function in defined_functions(op):
            while self._roll_one(function.body.block):
                pass

    def _roll_one(self, block: Block) -> bool:
        """Whether a repetition of the block has become a scan."""
        ops = block_ops(block)
        for found in repetitions(ops, min(self.least_steps, LEAST_LONG_STEPS)):
            if not self._pays(found) or _Loop(ops, found).reads_apart():
                continue
            for shift in range(found.period):
                shifted = found.shifted(shift)
                if not self._pays(shifted):
                    break
                loop = _Loop(ops, shifted)
                if loop.matches():
                    loop.roll()
                    return True
        return False

    def _pays(self, found: Repetition) -> bool:
        """Whether the steps are many, or many ops."""
        is_long = found.steps >= LEAST_LONG_STEPS and found.covered >= self.many_ops
        return is_long or found.steps >= self.least_steps


@record
class _Elements:
    """Elements of a tensor in order, from `first` on, backwards if `step` is -1."""

    base: SSAValue
    dim: int
    kept: bool
    first: int
    step: int

    @staticmethod
    def of(elements: Sequence[Element | None]) -> _Elements | None:
        """Those that steps read, if they are neighbours along one dimension of one tensor."""
        one, two = elements[:2]
        if one is None or two is None or two.index - one.index not in (1, -1):
            return None
        found = _Elements(one.base, one.dim, one.kept, one.index, two.index - one.index)
        same = all(found.at(number) == element for number, element in enumerate(elements))
        return found if same and not _stays(found.base) else None

    def at(self, number: int) -> Element:
        """The element of a step."""
        return Element(self.base, self.dim, self.kept, self.first + self.step * number)

    def sequence(self, steps: int, before: Operation) -> SSAValue:
        """The tensor whose first dimension a scan walks."""
        value, extent = moved(self.base, self.dim, 0, before), _shape(self.base)[self.dim]
        low = min(self.first, self.first + self.step * (steps - 1))
        if steps < extent:
            value = inserted("slice.Tensor", before, value, 0, low, low + steps)
        return inserted("flip.default", before, value, [0]) if self.step < 0 else value


_Source = Made | Carried | _Elements | SSAValue
"""Where an operand of a step comes from; a value is the same in all steps."""


class _Loop(Steps):
    """A repetition that may be a loop: `sources` of operands by place, and places of elements."""

    def __init__(self, ops: Sequence[Operation], repetition: Repetition) -> None:
        super().__init__(ops, repetition)
        self.sources: list[list[_Source]] = []
        self.elements: dict[int, _Elements] = {}

    # What each step reads

    def matches(self) -> bool:
        """Whether the steps read alike, and hand something on."""
        for place in range(self.repetition.period):
            steps = [self.op(step, place) for step in range(self.repetition.steps)]
            found = [
                self._source(values) for values in zip(*(op.operands for op in steps), strict=True)
            ]
            if None in found:
                return False
            self.sources.append(found)  # pyright: ignore[reportArgumentType]
            if not self._reads_alike(steps, place):
                return False
        return any(isinstance(s, Carried) for sources in self.sources for s in sources)

    def reads_apart(self) -> bool:
        """Whether each step reads another value that no step makes, nor is an element of a tensor,
        as each of a network's layers does its weight: then no steps that begin later match."""
        for place in range(self.repetition.period):
            steps = [self.op(step, place) for step in range(self.repetition.steps)]
            for values in zip(*(op.operands for op in steps), strict=True):
                if len(set(values)) == len(values) and not any(map(self._is_known, values)):
                    return True
        return False

    def _is_known(self, value: SSAValue) -> bool:
        return self.made(value) is not None or element_of(value) is not None

    def _reads_alike(self, steps: Sequence[Operation], place: int) -> bool:
        """Whether an op has one index in all steps, or takes the next element in each."""
        varying = INDEX_ARGUMENTS.get(steps[0].name, ())
        if len({tuple(op.properties.get(n) for n in varying) for op in steps}) == 1:
            return True
        elements = _Elements.of([element_of(op.results[0]) for op in steps])
        if elements is None or not isinstance(self.sources[place][0], SSAValue):
            return False
        self.elements[place] = elements
        return True

    def _source(self, values: Sequence[SSAValue]) -> _Source | None:
        places = [self.made(value) for value in values]
        if places[1] is not None:
            return self.within(values)
        if any(made is not None for made in places):
            return None
        if all(value is values[0] for value in values):
            return values[0]
        return _Elements.of([element_of(value) for value in values])

    # The scan

    def roll(self) -> None:
        """Puts a scan in the place of the steps."""
        flat = [source for sources in self.sources for source in sources]
        carried = list(dict.fromkeys(s for s in flat if isinstance(s, Carried)))
        walked = list(dict.fromkeys(s for s in flat if isinstance(s, _Elements)))
        walked = list(dict.fromkeys([*walked, *self.elements.values()]))
        places = [p for p in range(self.repetition.period) if p not in self.elements]
        read = [source for place in places for source in self.sources[place]]
        same = list(dict.fromkeys(s for s in read if isinstance(s, SSAValue)))
        r = self.repetition
        behind = self.behind
        sequences = [elements.sequence(r.steps, behind) for elements in walked]
        if not sequences:  # a scan walks something: numbers of the steps, which nobody reads
            sequences = [inserted("arange.default", behind, r.steps)]
        wanted = self._wanted({c.made for c in carried})
        kinds = [s.start.type for s in carried]
        body = self._body(carried, walked, same, sequences, list(wanted))
        types: list[Attribute] = [*kinds]
        types += [stacked(self.op(0, p).results[n].type, r.steps) for p, n in wanted]
        scan = ScanOp([s.start for s in carried], sequences, same, types, Region(body))
        scan.location = self.op(0, 0).location
        block = behind.parent_block()
        assert block is not None
        block.insert_op_before(scan, behind)
        stacks = [
            ([self.op(step, place).results[n] for step in range(r.steps)], result)
            for (place, n), result in zip(wanted, scan.results[len(carried) :], strict=True)
        ]
        for values, result in stacks:
            read_whole(values, result, self.numbers)
        for carry, result in zip(carried, scan.results, strict=False):
            self.hand_over(r.steps - 1, carry.made, result)
        for values, result in stacks:
            read_elements(values, result, self.numbers)
        self._erase()

    def _wanted(self, carried: set[Made]) -> dict[Made, None]:
        """What ops behind the steps read, but for what is carried last."""
        wanted: dict[Made, None] = {}
        last = self.repetition.steps - 1
        for op, number in self.numbers.items():
            step, place = divmod(number, self.repetition.period)
            for result in op.results:
                made = place, result.index
                if made in wanted or (step == last and made in carried):
                    continue
                if self.read_behind(result):
                    wanted[made] = None
        return wanted

    def _body(
        self,
        carried: Sequence[Carried],
        walked: Sequence[_Elements],
        same: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        wanted: Sequence[Made],
    ) -> Block:
        rows = [TensorType(s.type.element_type, _shape(s)[1:]) for s in sequences]  # pyright: ignore
        kinds = [*(s.start.type for s in carried), *rows, *(value.type for value in same)]
        body = Block(arg_types=kinds)
        known: dict[Any, SSAValue] = {}
        names = (*carried, *(walked or [None]), *same)
        for name, argument in zip(names, body.args, strict=True):
            known[name] = argument
        end = YieldOp([])
        body.add_op(end)
        for elements in walked:
            if elements.kept:
                known[elements] = inserted("unsqueeze.default", end, known[elements], elements.dim)
        for place, sources in enumerate(self.sources):
            if place in self.elements:
                known[place, 0] = known[self.elements[place]]
                continue
            op = self.op(1, place).clone()
            op.operands = [known[source] for source in sources]
            op.location = self.op(0, place).location
            body.insert_op_before(op, end)
            known |= {(place, n): result for n, result in enumerate(op.results)}
        end.operands = [*(known[s.made] for s in carried), *(known[made] for made in wanted)]
        end.location = self.op(0, 0).location
        return body

    def _erase(self) -> None:
        """The steps, and ops that took elements for them."""
        read = dict.fromkeys(v.owner for op in self.numbers for v in op.operands)
        taken = [op for op in read if isinstance(op, Operation) and op not in self.numbers]
        for op in reversed(list(self.numbers)):
            op.detach()
            op.erase()
        while taken:
            op = taken.pop()
            if op.parent is None or element_of(op.results[0]) is None:
                continue
            owners = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
            if erase_unread(op):
                taken += owners


def _stays(value: SSAValue) -> bool:
    """Whether it is bound when the program is compiled: weights of steps are packed one by one."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    kind = function.arg_attrs.data[value.index].data.get("lamina.kind")  # pyright: ignore
    return kind is not None and kind != StringAttr("input")


def _shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
