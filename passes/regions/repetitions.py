"""Repeated ops: where a block says the same again and again, as loops do that were written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp

INDEX_ARGUMENTS = {"aten.select.int": ("index",), "aten.slice.Tensor": ("start", "end")}
"""Arguments that may differ from step to step: which element of a tensor a step reads."""

MOST_PERIODS = 16
"""Lengths of a step that are tried: those that are the distance of the most equal ops. Each
is a walk over the block; not measured."""


@record
class Repetition:
    """`steps` times `period` ops, from op number `first` on, are equal but for their operands.

    `begun` ops behind them are those that a further step begins with.
    """

    first: int
    period: int
    steps: int
    begun: int = 0

    @property
    def covered(self) -> int:
        """How many ops the whole steps are together."""
        return self.period * self.steps

    def shifted(self, shift: int) -> Repetition:
        """The steps that begin so many ops later."""
        left = self.covered + self.begun - shift
        return Repetition(self.first + shift, self.period, *divmod(left, self.period))


Made = tuple[int, int]
"""What an op of a step makes: the op's place in the step, and which of its results."""


@record
class Carried:
    """What the step in front has made; the first step reads `start`."""

    made: Made
    start: SSAValue


class Steps:
    """The steps of a repetition among the ops of a block."""

    def __init__(self, ops: Sequence[Operation], repetition: Repetition) -> None:
        self.ops, self.repetition = ops, repetition
        inside = ops[repetition.first : repetition.first + repetition.covered]
        self.numbers = {op: number for number, op in enumerate(inside)}

    def op(self, step: int, place: int) -> Operation:
        """The op at a place of a step."""
        r = self.repetition
        return self.ops[r.first + step * r.period + place]

    @property
    def behind(self) -> Operation:
        """The first op behind the steps."""
        return self.ops[self.repetition.first + self.repetition.covered]

    def made(self, value: SSAValue) -> tuple[int, Made] | None:
        """The step that makes a value, and what of it; None if none does."""
        number = self.numbers.get(value.owner) if isinstance(value.owner, Operation) else None
        if number is None:
            return None
        step, place = divmod(number, self.repetition.period)
        return step, (place, value.index)  # pyright: ignore[reportAttributeAccessIssue]

    def within(self, values: Sequence[SSAValue]) -> Made | Carried | None:
        """Where values come from that the second step and those behind it read of steps; None if it
        is not the same for all, or further back than the step in front."""
        first, second, *others = (self.made(value) for value in values)
        assert second is not None, "the second step reads what steps make"
        behind, what = 1 - second[0], second[1]
        if any(place != (step - behind, what) for step, place in enumerate(others, 2)):
            return None
        if behind == 0:
            return what if first == (0, what) else None
        return Carried(what, values[0]) if behind == 1 and first is None else None

    def hand_over(self, step: int, made: Made, result: SSAValue) -> None:
        """Ops behind the steps read `result` for what a step has made."""
        old = self.op(step, made[0]).results[made[1]]
        old.replace_uses_with_if(result, lambda use: use.operation not in self.numbers)

    def read_behind(self, value: SSAValue) -> bool:
        """Whether an op reads a value that is none of the steps'."""
        return any(use.operation not in self.numbers for use in value.uses)


def aten_signature(op: Operation) -> Hashable:
    """The same for ops of the aten dialect that are equal but for operands and indices."""
    kinds = [value.type for value in (*op.operands, *op.results)]
    is_aten = isinstance(op, SchemaOp) and op.dialect_name() == "aten"
    if not is_aten or op.regions or not all(map(is_static, kinds)):
        return op  # equal to no other
    differs = INDEX_ARGUMENTS.get(op.name, ())
    same = sorted((n, v) for n, v in op.properties.items() if n not in differs)
    return op.name, tuple(same), tuple(sorted(op.attributes.items())), tuple(kinds)


def repetitions(
    ops: Sequence[Operation],
    least_steps: int,
    signature: Callable[[Operation], Hashable] = aten_signature,
) -> Iterator[Repetition]:
    """Those of at least so many steps; the ones that cover the most ops first.

    Ops repeat one another if their signatures are equal.
    """
    known: dict[Hashable, int] = {}
    numbers = np.array([known.setdefault(signature(op), len(known)) for op in ops], dtype=np.int64)
    found: list[Repetition] = []
    for period in _periods(numbers, least_steps):
        equal = numbers[:-period] == numbers[period:]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.astype(np.int8), [0]))))
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            steps, begun = divmod(end - first, period)
            if steps + 1 >= least_steps:
                found.append(Repetition(first, period, steps + 1, begun))
    yield from sorted(found, key=lambda r: (-r.covered, r.period))


def _periods(numbers: np.ndarray, least_steps: int) -> list[int]:
    """Distances of ops from the next equal one, and from the one behind it, as a step may hold two
    of each, the most frequent first."""
    places: dict[int, list[int]] = {}
    distances: Counter[int] = Counter()
    for place, number in enumerate(numbers.tolist()):
        before = places.setdefault(number, [])
        distances.update([place - other for other in before[-2:]])
        before.append(place)
    longest = len(numbers) // least_steps
    return [d for d, count in distances.most_common(MOST_PERIODS) if d <= longest and count > 1]


@once_an_object
def is_static(kind: Attribute) -> bool:
    """Whether it is the type of a tensor whose sizes are known."""
    return isinstance(kind, TensorType) and kind.has_static_shape()


@record
class Element:
    """Element `index` of a tensor along a dimension, which stays with extent 1 if `kept`."""

    base: SSAValue
    dim: int
    kept: bool
    index: int


def element_of(value: SSAValue) -> Element | None:
    """Which element of another tensor a value is, as `select`, `slice`, `unbind` and `split` take
    them; None if it is none."""
    op = value.owner
    if not isinstance(op, SchemaOp):
        return None
    match op.name:
        case "aten.select.int":
            return _element(op, op.arg("index"), kept=False)
        case "aten.unbind.int":
            return _element(op, list(op.results).index(value), kept=False)  # pyright: ignore
        case "aten.slice.Tensor" if op.arg("step") == 1:
            found = _element(op, op.arg("start") or 0, kept=True)
            return found if found and _extent(value, found.dim) == 1 else None
        case "aten.split.Tensor" | "aten.split_with_sizes.default":
            found = _element(op, list(op.results).index(value), kept=True)  # pyright: ignore
            whole = found and all(_extent(r, found.dim) == 1 for r in op.results)
            return found if whole else None
        case "aten.squeeze.dims" | "aten.squeeze.dim":
            inner, dims = element_of(op.arg("self")), op.arg("dim")
            rank = len(op.operands[0].type.get_shape())  # pyright: ignore
            dims = [d % rank for d in (dims if isinstance(dims, list) else [dims])]
            if inner is None or not inner.kept or dims != [inner.dim]:
                return None
            return Element(inner.base, inner.dim, False, inner.index)
        case _:
            return None


def _element(op: SchemaOp, index: object, *, kept: bool) -> Element | None:
    base = op.arg("self")
    shape = base.type.get_shape()
    dim = op.arg("dim") % len(shape)
    if not isinstance(index, int):
        return None
    return Element(base, dim, kept, index if index >= 0 else index + shape[dim])


def _extent(value: SSAValue, dim: int) -> int:
    return value.type.get_shape()[dim]  # pyright: ignore[reportAttributeAccessIssue]
