"""What equal layers of a network read: what is handed on, their own tensors, and the same ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from math import prod
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue

from lamina.dialects.elementwise import ROWS, spellings
from lamina.dialects.records import mutable_record, record
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.regions.repetitions import Carried, Made, Repetition, Steps

PRODUCTS = frozenset(
    {
        "aten._scaled_mm.default",
        "aten.addmm.default",
        "aten.baddbmm.default",
        "aten.bmm.default",
        "aten.linear.default",
        "aten.matmul.default",
        "aten.mm.default",
    }
)
"""Ops in front of which a layer may begin."""

COPIES = frozenset({"aten._to_copy.default", "aten.clone.default"})
FUNCTIONS = frozenset(
    name for row in ROWS if row.cost in ("function", "special") for name in spellings(row.name)
)
"""Overloads that cost more than what they read."""


@record
class Own:
    """A value of its own for each step."""

    values: tuple[SSAValue, ...]


Source = Made | Carried | Own | SSAValue
"""Where an operand of a step comes from; a value is the same in all steps."""


def is_made(source: Source) -> TypeGuard[Made]:
    """Whether the step makes it itself."""
    return isinstance(source, tuple)


class Layers(Steps):
    """A repetition that may be one region: `sources` of operands by place.

    Places that are `outside` wait for no step in front, and stay there, with what they read: what
    constants alone are needed for, and what costs more than its own reads. Of `constants` it is
    known which values are computed before the first call.
    """

    def __init__(
        self, ops: Sequence[Operation], repetition: Repetition, constants: Collection[SSAValue]
    ) -> None:
        super().__init__(ops, repetition)
        self.constants = constants
        self.sources: list[list[Source]] = []
        self.outside: set[int] = set()

    @property
    def handed_on(self) -> int:
        """Elements that steps carry."""
        carried = {s for sources in self.sources for s in sources if isinstance(s, Carried)}
        return sum(elements_of(source.start) for source in carried)

    def results(self, place: int, number: int) -> Own:
        """What the steps make at a place."""
        steps = range(self.repetition.steps)
        return Own(tuple(self.op(step, place).results[number] for step in steps))

    def matches(self) -> bool:
        """Whether the steps read alike, and hand something on."""
        for place in range(self.repetition.period):
            steps = [self.op(step, place) for step in range(self.repetition.steps)]
            if any(op.properties != steps[0].properties for op in steps):
                return False
            sources: list[Source] = []
            for values in zip(*(op.operands for op in steps), strict=True):
                source = self._source(values)
                if source is None:
                    return False
                sources.append(source)
            self.sources.append(sources)
        early = self._early()
        self._own_what_is_early(early)
        self._leave_outside(early)
        return any(isinstance(s, Carried) for sources in self.sources for s in sources)

    def _early(self) -> list[int]:
        """Places that wait for no step in front, though that may make what they read: a view of the
        next weight, say."""
        early: list[int] = []
        while True:
            found: list[int] = []
            for place, sources in enumerate(self.sources):
                made = (s.made[0] in early for s in sources if isinstance(s, Carried))
                if all(made) and all(s[0] in found for s in sources if is_made(s)):
                    found.append(place)
            if found == early:
                return early
            early = found

    def _own_what_is_early(self, early: Sequence[int]) -> None:
        """What a step hands on that waits for none is the next one's own, and made outside."""
        for sources in self.sources:
            for number, source in enumerate(sources):
                if isinstance(source, Carried) and source.made[0] in early:
                    self.outside.add(source.made[0])
                    values = self.results(*source.made).values
                    sources[number] = Own((source.start, *values[:-1]))

    def is_common(self, place: int) -> bool:
        """Whether the steps make the same at a place, as they read nothing else."""
        return all(isinstance(source, SSAValue) for source in self.sources[place])

    def _source(self, values: Sequence[SSAValue]) -> Source | None:
        places = [self.made(value) for value in values]
        if places[1] is not None:
            return self.within(values)
        if any(place is not None for place in places):
            return None
        same = all(value is values[0] for value in values)
        return values[0] if same else Own(tuple(values))

    def _leave_outside(self, early: Sequence[int]) -> None:
        """Choose the places that stay outside among those that read nothing that is carried."""
        for place in reversed(early):
            if place in self.outside or self._costs(self.op(0, place)):
                self.outside.add(place)
                self.outside |= {s[0] for s in self.sources[place] if is_made(s)}
        for sources in self.sources:
            for number, source in enumerate(sources):
                if is_made(source) and source[0] in self.outside:
                    own = self.results(*source)
                    sources[number] = own.values[0] if self.is_common(source[0]) else own

    def _costs(self, op: Operation) -> bool:
        """Whether to make a value once is worth storing it, or it is made before the first call."""
        if is_cheap(op):
            return False
        return op.name not in PRODUCTS or op.results[0] in self.constants


@mutable_record
class Groups:
    """Sources from outside of a step, in order, each once."""

    carried: dict[Carried, None] = field(default_factory=dict[Carried, None])
    own: dict[Own, None] = field(default_factory=dict[Own, None])
    same: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    sunk: list[Operation] = field(default_factory=list[Operation])
    """Ops that the region says again, last ones first."""

    def add(self, source: Source) -> None:
        """Take a source into its group; what a step makes is in none."""
        match source:
            case Carried():
                self.carried[source] = None
            case Own():
                self.own[source] = None
            case SSAValue():
                self.same[source] = None
            case _:
                pass

    def sink(self) -> None:
        """Let the region make cheap values itself that are more than what they are made of: they
        would be stored to cross its edge."""
        waiting = list(self.same)
        while waiting:
            op = waiting.pop().owner
            if isinstance(op, Operation) and op not in self.sunk and _grows(op) and is_cheap(op):
                self.sunk.append(op)
                for result in op.results:
                    self.same.pop(result, None)
                for operand in op.operands:
                    self.same[operand] = None
                    waiting.append(operand)


def is_cheap(op: Operation) -> bool:
    """Whether readers of the result make it again for nothing: views, constants, sums, masks."""
    if not isinstance(op, SchemaOp):
        return False
    if not op.operands or op.schema.aliases or op.name in COPIES:
        return True
    return "pointwise" in op.schema.tags and op.overload_name not in FUNCTIONS


def elements_of(value: SSAValue) -> int:
    """The number of elements of a tensor of known sizes."""
    return prod(value.type.get_shape())  # pyright: ignore[reportAttributeAccessIssue]


def _grows(op: Operation) -> bool:
    return sum(map(elements_of, op.results)) > sum(map(elements_of, op.operands))
