"""Least and largest values of the integers of scheduled code, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.team import NumThreadsOp, ThreadOp

Range = tuple[int, int]
"""The least and the largest value, both included."""

_INDEX_BITS = 64


class IndexRanges:
    """What is known of the integers of a function whose ops are noted in their order.

    Of what no rule tells anything the range is that of its type. Loops that run no round make
    nothing true of their positions: these are never read.
    """

    def __init__(self) -> None:
        self._known: dict[SSAValue, Range] = {}

    def of(self, value: SSAValue) -> Range:
        """The range of an integer or an index."""
        return self._known.get(value) or _whole(value.type)

    def lanes_on(self, mask: SSAValue) -> Range | None:
        """How many of the first lanes a mask has on; None where these need not be the first."""
        owner = mask.owner
        if not isinstance(owner, vector.CreateMaskOp) or not isinstance(mask.type, VectorType):
            return None
        lanes = mask.type.get_shape()[0]
        low, high = self.of(owner.mask_dim_sizes[0])
        return min(max(low, 0), lanes), min(max(high, 0), lanes)

    def note(self, op: Operation) -> None:
        """Learns of the results of an op, and of the positions of a loop."""
        if isinstance(op, scf.ForOp):
            self._known[op.body.block.args[0]] = self._position(op.lb, op.ub, op.step)
        elif isinstance(op, scf.ParallelOp):
            bounds = zip(op.lowerBound, op.upperBound, op.step, strict=True)
            for position, of_dim in zip(op.body.block.args, bounds, strict=True):
                self._known[position] = self._position(*of_dim)
        elif isinstance(op, ThreadOp | NumThreadsOp):
            least = 1 if isinstance(op, NumThreadsOp) else 0
            self._known[op.result] = (least, _whole(op.result.type)[1])
        elif len(op.results) == 1 and _bits(op.results[0].type):
            low, high = _whole(op.results[0].type)
            found = self._result(op)
            if found is not None and low <= found[0] and found[1] <= high:
                self._known[op.results[0]] = found

    def _position(self, start: SSAValue, end: SSAValue, step: SSAValue) -> Range:
        (low, most), (_, high), (least_step, step_size) = map(self.of, (start, end, step))
        if least_step < 1 or high + step_size > _whole(start.type)[1]:  # it may go round
            return _whole(start.type)
        last = high - 1
        if low == most and least_step == step_size and last >= low:
            last = low + (last - low) // step_size * step_size
        return low, max(low, last)

    def _result(self, op: Operation) -> Range | None:
        if isinstance(op, arith.ConstantOp):
            number = constant_integer(op.result)
            return None if number is None else (number, number)
        if isinstance(op, arith.SelectOp):
            (a, b), (c, d) = self.of(op.lhs), self.of(op.rhs)
            return min(a, c), max(b, d)
        if isinstance(op, arith.IndexCastOp | arith.ExtSIOp):
            return self.of(op.operands[0]) if _bits(op.operands[0].type) else None
        rule = _RULES.get(type(op))
        if rule is None:
            return None
        return rule(self.of(op.operands[0]), self.of(op.operands[1]))


def _bits(kind: Attribute) -> int:
    """The width of an integer type; 0 of others."""
    if isinstance(kind, IntegerType):
        return kind.width.data
    return _INDEX_BITS if isinstance(kind, IndexType) else 0


def _whole(kind: Attribute) -> Range:
    most = 1 << (_bits(kind) - 1)
    return -most, most - 1


def _products(left: Range, right: Range) -> Range:
    products = [a * b for a in left for b in right]
    return min(products), max(products)


def _remainders(left: Range, right: Range) -> Range | None:
    """Of what is at least 0 by what is above 0; the sign of others is not followed."""
    if left[0] < 0 or right[0] < 1:
        return None
    return 0, min(left[1], right[1] - 1)


def _quotients(left: Range, right: Range) -> Range | None:
    """Rounded down, and to zero: of what is at least 0 these are the same."""
    if left[0] < 0 or right[0] < 1:
        return None
    return left[0] // right[1], left[1] // right[0]


def _ceil_quotients(left: Range, right: Range) -> Range | None:
    if left[0] < 0 or right[0] < 1:
        return None
    return -(-left[0] // right[1]), -(-left[1] // right[0])


def _conjunctions(left: Range, right: Range) -> Range | None:
    ends = [high for low, high in (left, right) if low >= 0]
    return (0, min(ends)) if ends else None


_RULES: dict[type[Operation], Callable[[Range, Range], Range | None]] = {
    arith.AddiOp: lambda left, right: (left[0] + right[0], left[1] + right[1]),
    arith.SubiOp: lambda left, right: (left[0] - right[1], left[1] - right[0]),
    arith.MuliOp: _products,
    arith.MinSIOp: lambda left, right: (min(left[0], right[0]), min(left[1], right[1])),
    arith.MaxSIOp: lambda left, right: (max(left[0], right[0]), max(left[1], right[1])),
    arith.RemSIOp: _remainders,
    arith.RemUIOp: _remainders,
    arith.DivSIOp: _quotients,
    arith.DivUIOp: _quotients,
    arith.FloorDivSIOp: _quotients,
    arith.CeilDivSIOp: _ceil_quotients,
    arith.CeilDivUIOp: _ceil_quotients,
    arith.AndIOp: _conjunctions,
}
