"""What stands in padding: the number that a value is where a limit does not hold.

Masks choose it: `select(position < %n, %x, 256)` is 256 from position `%n` on, and so is what is
computed of it alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from lamina.dialects.loop.predicates import EQ, NE, SGE, SGT, SLE, SLT
from lamina.dialects.records import mutable_record
from lamina.passes.fusion.demanded_elements import NestDemand
from lamina.passes.fusion.element_limits import (
    Limit,
    PointLimit,
    Points,
    Touched,
)

Number = int | float
Paddings = Mapping[Limit, Number]
"""Of a value: outside of each of these limits all its elements are this number."""

_FOLDS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
}

_COMPARED: dict[int, Callable[[int, int], bool]] = {
    EQ: operator.eq,
    NE: operator.ne,
    SLT: operator.lt,
    SLE: operator.le,
    SGT: operator.gt,
    SGE: operator.ge,
}

_MOST = 1 << 62
"""Sums and products of larger numbers are not followed: they wrap around."""


@mutable_record
class PaddingValues:
    """Numbers in the body of a nest at points outside of a limit.

    `operands` are those of the arguments of the body, by the points that read them; `truth` gives
    the points outside of which a boolean is false.
    """

    block: Block
    operands: Mapping[SSAValue, Mapping[PointLimit, Number]]
    truth: Callable[[SSAValue], Points]
    _known: dict[tuple[SSAValue, PointLimit], Number | None] = field(
        default_factory=dict[tuple[SSAValue, PointLimit], Number | None]
    )

    def limits(self) -> Iterator[PointLimit]:
        """The limits outside of which something may be known."""
        for found in self.operands.values():
            yield from found
        for op in self.block.ops:
            if isinstance(op, arith.SelectOp):
                yield from self.truth(op.cond)

    def outside(self, value: SSAValue, limit: PointLimit) -> Number | None:
        """The number that a value is there; None if it is none that is known."""
        key = (value, limit)
        if key not in self._known:
            self._known[key] = self._outside(value, limit)
        return self._known[key]

    def _outside(self, value: SSAValue, limit: PointLimit) -> Number | None:
        if isinstance(value, BlockArgument):
            return self.operands.get(value, {}).get(limit)
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as number):
                return number.value.data
            case arith.SelectOp() as chosen:
                return self._chosen(chosen, limit)
            case arith.IndexCastOp() | arith.ExtSIOp() as cast:
                return self.outside(cast.operands[0], limit)
            case arith.CmpiOp() as compared:
                fold = _COMPARED.get(compared.predicate.value.data)
                return None if fold is None else self._folded(compared.operands, limit, fold)
            case Operation() as op if (fold := _FOLDS.get(type(op))) is not None:
                return self._folded(op.operands, limit, fold)
            case _:
                return None

    def _chosen(self, op: arith.SelectOp, limit: PointLimit) -> Number | None:
        condition = self.outside(op.cond, limit)
        if condition is None and limit in self.truth(op.cond):
            condition = 0
        if condition is not None:
            return self.outside(op.lhs if condition else op.rhs, limit)
        left, right = (self.outside(value, limit) for value in (op.lhs, op.rhs))
        return left if left is not None and _same(left, right) else None

    def _folded(
        self, operands: Sequence[SSAValue], limit: PointLimit, fold: Callable[[int, int], int]
    ) -> int | None:
        if operands[0].type not in (i64, IndexType()):
            return None  # others wrap around sooner
        left, right = (self.outside(value, limit) for value in operands)
        if not isinstance(left, int) or not isinstance(right, int):
            return None
        made = int(fold(left, right))
        return made if max(abs(made), abs(left), abs(right)) < _MOST else None


def _same(one: Number, other: Number | None) -> bool:
    return one == other or (one != one and other is not None and other != other)  # both are NaN


def read_paddings(
    arguments: Sequence[SSAValue],
    reads: Sequence[tuple[SSAValue, Touched]],
    known: Mapping[SSAValue, Paddings],
) -> dict[SSAValue, dict[PointLimit, Number]]:
    """What the arguments of a body are at points outside of limits, by what they read."""
    found: dict[SSAValue, dict[PointLimit, Number]] = {}
    for argument, (value, touched) in zip(arguments, reads, strict=False):
        for limit, number in known.get(value, {}).items():
            for point in touched.points(frozenset([limit])):
                found.setdefault(argument, {})[point] = number
    return found


def paddings_of(
    demand: NestDemand, result: int, known: Mapping[SSAValue, Paddings]
) -> dict[Limit, Number]:
    """What a pointwise nest leaves in the padding of a result, by number."""
    nest = demand.nest
    reads = [
        (value, demand.touched(value, index_map))
        for value, index_map in zip(nest.inputs, nest.read_maps, strict=True)
    ]
    operands = read_paddings(nest.block.args, reads, known)
    for argument, pad in zip(nest.block.args, nest.pad_values, strict=False):
        if pad is not None and argument in operands:
            beyond = pad.value.data if isinstance(pad, FloatAttr | IntegerAttr) else None
            own = operands[argument].items()
            operands[argument] = {at: number for at, number in own if _same(number, beyond)}
    values = PaddingValues(nest.block, operands, demand.truth)
    written = demand.touched(nest.res[result], nest.write_maps[result])
    found: dict[Limit, Number] = {}
    for point in values.limits():
        number = values.outside(nest.yielded[result], point)
        if number is not None:
            found |= dict.fromkeys(written.limits(frozenset([point])), number)
    return found
