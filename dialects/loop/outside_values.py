"""What the body of a nest computes outside a bound of one of its dimensions, as far as it is known.

There a comparison of positions has one answer, reads give what stands there in all rows, and much
of a body is a number: -inf in a masked score. A few values are not numbers but known well enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, isfinite, isnan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float16Type, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.body_ops import IndexOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.predicates import EQ, NE
from lamina.dialects.loop.same_values import is_reduced_by, is_same_along
from lamina.dialects.loop.segments import used_dims_of
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.records import record

MOST_EXACT = 1 << 53
"""Integers below this are themselves in a double."""
EXACT_BITS = 32
"""Width of integers whose least and largest are numbers here: in doubles."""


@record
class Number:
    """A number; booleans are 0 and 1."""

    value: float

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of any sign."""
        return self.value == 0


@record
class Largest:
    """A row's maximum m of what a nest yields along a dimension. Good rows are those with a number
    as their maximum."""

    nest: GenericOp
    number: int
    dim: int


@record
class Below:
    """-inf less a row's maximum: -inf in good rows, NaN in others but those of +inf."""

    of: Largest


@record
class Weight:
    """0 in good rows. In others it is NaN, or it is a weight all of which are 0 in that row, or one
    of those that are NaN for some position that is not masked."""

    of: Largest
    is_exponential: bool
    """Whether it is exp(x - m) itself."""

    is_zero = True


@record
class Positive:
    """Positive and finite in good rows, NaN in others, such as a sum of exponentials."""

    of: Largest


@record
class Shift:
    """A row's maximum, or a finite number that is taken in its place in some rows."""

    of: Largest


@record
class Sunk:
    """-inf less a shift: -inf, or NaN in rows where what is shifted within the bounds has NaN."""

    of: Largest


@record
class Vanishing:
    """exp(x - s) of a shift s: 0, or NaN in rows where it is NaN for some position within."""

    of: Largest


@record
class Position:
    """The position itself along the dimension."""


Value = Number | Largest | Below | Weight | Positive | Shift | Sunk | Vanishing | Position


def is_zero(value: Value | None) -> bool:
    """Whether a value is 0, or a weight, which is 0 in good rows."""
    return isinstance(value, Number | Weight) and value.is_zero


@record
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
        dim: int | None,
        answers: Mapping[SSAValue, bool],
        reads: Mapping[int, Value],
    ) -> Given:
        """What it yields where comparisons have these `answers` and reads give `reads`.

        That is outside a bound of a dimension; None for rows of the kernel.
        """
        return self._run(dim, {v: Number(float(a)) for v, a in answers.items()}, reads)

    def _run(
        self, dim: int | None, known: Mapping[SSAValue, Value], reads: Mapping[int, Value]
    ) -> Given:
        values: dict[SSAValue, Value] = dict(known)
        used = used_dims_of(self.nest.properties["input_maps"])
        for number, memory in enumerate(self.nest.inputs):
            if number in reads:
                values[self.nest.block.args[number]] = reads[number]
            elif (
                memory in self.rows
                and self.nest.pad_values[number] is None
                and (dim is None or dim not in used[number])
            ):
                values[self.nest.block.args[number]] = self.rows[memory]
        for op in block_ops(self.nest.block):
            if len(op.results) == 1 and op.results[0] not in values:
                made = self._value(op, values, dim)
                if made is not None:
                    values[op.results[0]] = made
        return Given(reads, tuple(values.get(v) for v in self.nest.yielded))

    def _value(
        self, op: Operation, values: Mapping[SSAValue, Value], dim: int | None
    ) -> Value | None:
        known = [values.get(o) for o in operands_of(op)]
        match op:
            case arith.ConstantOp():
                data = getattr(getattr(op.value, "value", None), "data", None)
                if data is None:
                    return None
                return Number(float(bool(data) if op.result.type == i1 else data))
            case IndexOp() if op.dim.value.data == dim:
                return Position()
            case arith.IndexCastOp() if isinstance(known[0], Position):
                return known[0]
            case arith.SelectOp():
                return self._chosen(op, known, dim)
            case arith.AndIOp() | arith.OrIOp() if op.result.type == i1:
                return _logic(known, isinstance(op, arith.OrIOp))
            case arith.SubfOp() if isinstance(known[1], Largest):
                masked = isinstance(known[0], Number) and known[0].value == -inf
                top = known[1]
                same = is_reduced_by(self.nest, op.lhs, top.nest, top.number, top.dim)
                return Below(top) if masked and same else None
            case arith.SubfOp() if isinstance(known[1], Shift):
                masked = isinstance(known[0], Number) and known[0].value == -inf
                top = known[1].of
                same = is_reduced_by(self.nest, op.lhs, top.nest, top.number, top.dim)
                return Sunk(top) if masked and same else None
            case math.ExpOp() if isinstance(known[0], Below):
                return Weight(known[0].of, True)
            case math.ExpOp() if isinstance(known[0], Sunk):
                return Vanishing(known[0].of)
            case arith.MulfOp() | arith.DivfOp():
                return _scaled(op, known)
            case arith.UIToFPOp() | arith.ExtUIOp() if op.operands[0].type == i1:
                return known[0]
            case arith.CmpiOp():
                return _compared(op, known)
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
        if zeros and weights and is_same_along(self.nest, op.cond, dim):
            return Weight(weights[0].of, False)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Largest) and isinstance(other, Number) and isfinite(other.value):
                return Shift(one)
        return None


def is_identity(combiner: str, kind: Attribute, number: float) -> bool:
    """Whether a number of an element type leaves what a combiner makes of others as it is."""
    if isinstance(kind, IntegerType):
        bits = kind.bitwidth
        low, high = (0, 1) if bits == 1 else (-(1 << bits - 1), (1 << bits - 1) - 1)
        known = {"add": 0, "or": 0, "mul": 1, "and": 1 if bits == 1 else -1}
        if bits <= EXACT_BITS:
            known |= {"max": low, "min": high}
        return known.get(combiner) == number
    return {"add": 0.0, "mul": 1.0, "max": -inf, "min": inf}.get(combiner) == number


def _logic(known: Sequence[Value | None], settles: bool) -> Value | None:
    """`and`, or `or` where True `settles` it, of truth values."""
    numbers = [v for v in known if isinstance(v, Number)]
    if any(bool(v.value) == settles for v in numbers):
        return Number(float(settles))
    return Number(float(not settles)) if len(numbers) == len(known) else None


def _compared(op: arith.CmpiOp, known: Sequence[Value | None]) -> Value | None:
    """Whether two integers that are known, and that a double holds, are the same, or are not."""
    numbers = [v.value for v in known if isinstance(v, Number) and abs(v.value) < MOST_EXACT]
    predicate = op.predicate.value.data
    if len(numbers) != 2 or predicate not in (EQ, NE):
        return None
    return Number(float((numbers[0] == numbers[1]) == (predicate == EQ)))


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


__all__ = [
    "Below",
    "Given",
    "Largest",
    "Number",
    "OutsideBody",
    "Position",
    "Positive",
    "Shift",
    "Sunk",
    "Value",
    "Vanishing",
    "Weight",
    "is_identity",
]
