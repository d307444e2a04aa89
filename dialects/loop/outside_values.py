"""What the body of a nest computes outside a bound of one of its dimensions, as far as it is known.

There a comparison of positions has one answer, reads give what stands there in all rows, and much
of a body is a number: -inf in a masked score. A few values are not numbers but known well enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, isnan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float16Type, i1
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from lamina.dialects.loop.access import forms_of, substitute
from lamina.dialects.loop.body_ops import IndexOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.nest_attributes import rows_of


@dataclass(frozen=True)
class Number:
    """A number; booleans are 0 and 1."""

    value: float

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of any sign."""
        return self.value == 0


@dataclass(frozen=True)
class Largest:
    """A row's maximum m of what a nest yields along a dimension. Good rows are those with a number
    as their maximum."""

    nest: GenericOp
    number: int
    dim: int


@dataclass(frozen=True)
class Below:
    """-inf less a row's maximum: -inf in good rows, NaN in others but those of +inf."""

    of: Largest


@dataclass(frozen=True)
class Weight:
    """0 in good rows. In others it is NaN, or it is a weight all of which are 0 in that row, or one
    of those that are NaN for some position that is not masked."""

    of: Largest
    is_exponential: bool
    """Whether it is exp(x - m) itself."""

    is_zero = True


@dataclass(frozen=True)
class Positive:
    """Positive and finite in good rows, NaN in others, such as a sum of exponentials."""

    of: Largest


Value = Number | Largest | Below | Weight | Positive


@dataclass(frozen=True)
class Given:
    """What is known outside a bound: of the reads, by number, and of each yielded value."""

    reads: Mapping[int, Value]
    yielded: tuple[Value | None, ...]


class OutsideBody:
    """The body of a nest, given what stands in each row of the kernel."""

    def __init__(self, nest: GenericOp, rows: Mapping[SSAValue, Value]) -> None:
        self.nest = nest
        self.rows = rows

    def row(self) -> tuple[Value | None, ...]:
        """What a nest without inner dimensions yields in each row."""
        return self._run(None, {}, {}).yielded

    def outside(
        self,
        dim: int,
        answers: Mapping[SSAValue, bool],
        reads: Mapping[int, Value],
    ) -> Given:
        """What it yields where comparisons have these `answers` and reads give `reads`."""
        return self._run(dim, {v: Number(float(a)) for v, a in answers.items()}, reads)

    def _run(
        self, dim: int | None, known: Mapping[SSAValue, Value], reads: Mapping[int, Value]
    ) -> Given:
        values: dict[SSAValue, Value] = dict(known)
        for number, memory in enumerate(self.nest.inputs):
            used = self.nest.read_maps[number].used_dims()
            if number in reads:
                values[self.nest.block.args[number]] = reads[number]
            elif (
                memory in self.rows
                and self.nest.pad_values[number] is None
                and (dim is None or dim not in used)
            ):
                values[self.nest.block.args[number]] = self.rows[memory]
        for op in self.nest.block.ops:
            if len(op.results) == 1 and op.results[0] not in values:
                made = self._value(op, values, dim)
                if made is not None:
                    values[op.results[0]] = made
        return Given(reads, tuple(values.get(v) for v in self.nest.yielded))

    def _value(
        self, op: Operation, values: Mapping[SSAValue, Value], dim: int | None
    ) -> Value | None:
        known = [values.get(o) for o in op.operands]
        match op:
            case arith.ConstantOp():
                data = getattr(getattr(op.value, "value", None), "data", None)
                if data is None:
                    return None
                return Number(float(bool(data) if op.result.type == i1 else data))
            case arith.SelectOp():
                return self._chosen(op, known, dim)
            case arith.AndIOp() | arith.OrIOp():
                return _logic(known, isinstance(op, arith.OrIOp))
            case arith.SubfOp() if isinstance(known[1], Largest):
                masked = isinstance(known[0], Number) and known[0].value == -inf
                return Below(known[1]) if masked and self._is_maximum(op.lhs, known[1]) else None
            case math.ExpOp() if isinstance(known[0], Below):
                return Weight(known[0].of, True)
            case arith.MulfOp() | arith.DivfOp():
                return _scaled(op, known)
            case arith.UIToFPOp() | arith.ExtUIOp() if op.operands[0].type == i1:
                return known[0]
            case arith.XOrIOp() if op.result.type != i1:
                return None
            case arith.ExtFOp() | arith.TruncFOp():
                return _converted(op, known[0])
            case _:
                return _folded(op, known)

    def _chosen(
        self, op: arith.SelectOp, known: Sequence[Value | None], dim: int | None
    ) -> Value | None:
        condition, left, right = known
        if isinstance(condition, Number):
            return left if condition.value else right
        if left is not None and left == right:
            return left
        zeros = [v for v in (left, right) if v == Number(0.0)]
        weights = [v for v in (left, right) if isinstance(v, Weight)]
        if zeros and weights and self._is_same_in_row(op.cond, dim):
            return Weight(weights[0].of, False)
        return None

    def _is_same_in_row(self, value: SSAValue, dim: int | None) -> bool:
        """Whether a value of the body does not depend on the position along a dimension."""
        if dim is None:
            return True
        if isinstance(value, BlockArgument):
            if value.index >= len(self.nest.inputs):
                return False
            return dim not in self.nest.read_maps[value.index].used_dims()
        assert isinstance(value, OpResult)
        if isinstance(value.owner, IndexOp):
            return value.owner.dim.value.data != dim
        return not value.owner.regions and all(
            self._is_same_in_row(o, dim) for o in value.owner.operands
        )

    def _is_maximum(self, value: SSAValue, largest: Largest) -> bool:
        """Whether `largest` is the maximum of just this value of the body."""
        other = largest.nest
        inner = [d for d in range(len(self.nest.extents)) if d not in rows_of(self.nest)]
        if len(inner) != 1 or len(rows_of(other)) != len(rows_of(self.nest)):
            return False
        dims = dict(zip(rows_of(other), rows_of(self.nest), strict=True)) | {largest.dim: inner[0]}
        if any(d not in dims and e != 1 for d, e in enumerate(other.extents)):
            return False
        if any(other.extents[d] != self.nest.extents[dims[d]] for d in dims):
            return False
        moved = [
            Linear.dim(dims[d]) if d in dims else Linear(()) for d in range(len(other.extents))
        ]
        return self._is_same(value, other, other.yielded[largest.number], moved)

    def _is_same(
        self, value: SSAValue, other: GenericOp, its: SSAValue, moved: Sequence[Linear]
    ) -> bool:
        """Whether the body of another nest computes a value of this one: equal ops, equal reads."""
        if isinstance(value, BlockArgument) and isinstance(its, BlockArgument):
            return self._is_same_read(value.index, other, its.index, moved)
        if not isinstance(value, OpResult) or not isinstance(its, OpResult):
            return False
        here, there = value.owner, its.owner
        if isinstance(here, IndexOp) and isinstance(there, IndexOp):
            return moved[there.dim.value.data] == Linear.dim(here.dim.value.data)
        if here.name != there.name or here.properties != there.properties or here.regions:
            return False
        if value.type != its.type or len(here.operands) != len(there.operands):
            return False
        pairs = zip(here.operands, there.operands, strict=True)
        return all(self._is_same(a, other, b, moved) for a, b in pairs)

    def _is_same_read(
        self, number: int, other: GenericOp, its: int, moved: Sequence[Linear]
    ) -> bool:
        nest = self.nest
        if number >= len(nest.inputs) or its >= len(other.inputs):
            return False
        if nest.inputs[number] is not other.inputs[its]:
            return False
        if nest.pad_values[number] is not None or other.pad_values[its] is not None:
            return False
        forms = forms_of(nest.read_maps[number], nest.extents)
        theirs = forms_of(other.read_maps[its], other.extents)
        if forms is None or theirs is None:
            return False
        wide = {d for d, extent in enumerate(nest.extents) if extent != 1}
        return all(
            _without(a, wide) == _without(substitute(b, moved), wide)
            for a, b in zip(forms, theirs, strict=True)
        )


def _without(form: Linear, wide: set[int]) -> Linear:
    """The form without dimensions of one position."""
    return Linear(tuple(t for t in form.terms if t[0] in wide), form.constant)


def _logic(known: Sequence[Value | None], settles: bool) -> Value | None:
    """`and`, or `or` where True `settles` it, of truth values."""
    numbers = [v for v in known if isinstance(v, Number)]
    if any(bool(v.value) == settles for v in numbers):
        return Number(float(settles))
    return Number(float(not settles)) if len(numbers) == len(known) else None


def _scaled(op: arith.MulfOp | arith.DivfOp, known: Sequence[Value | None]) -> Value | None:
    left, right = known
    if isinstance(op, arith.MulfOp) and (isinstance(right, Weight) or _is_infinite(right)):
        left, right = right, left
    if isinstance(left, Weight):
        if isinstance(right, Number) and isfinite(right.value) and right.value:
            return Weight(left.of, False)
        if isinstance(right, Positive) and right.of == left.of:
            return Weight(left.of, False)
        return None
    if isinstance(op, arith.DivfOp) and isinstance(right, Positive):
        positive = isinstance(left, Number) and left.value == 1
        return right if positive else None
    if _is_infinite(left) and isinstance(right, Number) and isfinite(right.value) and right.value:
        assert isinstance(left, Number)
        return left if right.value > 0 else Number(-left.value)
    return _folded(op, known)


def _is_infinite(value: Value | None) -> bool:
    return isinstance(value, Number) and abs(value.value) == inf


def _converted(op: Operation, value: Value | None) -> Value | None:
    """A value in another type of floats: zeros and infinities are what they were."""
    if isinstance(value, Number):
        return value if value.value == 0 or abs(value.value) == inf else None
    if isinstance(value, Positive) and isinstance(op.results[0].type, Float16Type):
        return None  # a sum of more than 65,504 exponentials is infinite
    if isinstance(value, Weight):
        return Weight(value.of, False)
    return value if isinstance(value, Positive) else None


_FOLDED: dict[type[Operation], Callable[..., float]] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
    arith.NegfOp: lambda a: -a,
    arith.XOrIOp: lambda a, b: float(a != b),
    math.ExpOp: lambda a: 0.0 if a == -inf else exp(min(a, 700.0)),
}
_ORDERED: dict[int, Callable[[float, float], bool]] = {
    1: lambda a, b: a == b,
    2: lambda a, b: a > b,
    3: lambda a, b: a >= b,
    4: lambda a, b: a < b,
    5: lambda a, b: a <= b,
    8: lambda a, b: a == b,
    13: lambda a, b: a != b,
}
"""By predicate of `arith.cmpf`: the comparisons of numbers."""
_EXACT = frozenset((0.0, 1.0, -1.0, inf, -inf))
"""Numbers that every type holds, and that arithmetic on them rounds nowhere."""


def _folded(op: Operation, known: Sequence[Value | None]) -> Value | None:
    """Arithmetic on numbers that are the same in all types."""
    numbers = [v.value for v in known if isinstance(v, Number)]
    if len(numbers) != len(known) or not _EXACT.issuperset(numbers):
        return None
    if isinstance(op, arith.CmpfOp):
        compare = _ORDERED.get(op.predicate.value.data)
        return None if compare is None else Number(float(compare(*numbers)))
    fold = _FOLDED.get(type(op))
    made = None if fold is None else fold(*numbers)
    return None if made is None or isnan(made) or made not in _EXACT else Number(made)


__all__ = ["Below", "Given", "Largest", "Number", "OutsideBody", "Positive", "Value", "Weight"]
