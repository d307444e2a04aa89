"""How often loops of a scheduled kernel go round, with outer loops in the middle of their range.

Bounds of blocks and of what a mask leaves are arithmetic of outer indices: it is evaluated there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from lamina.passes.regions.trip_counts import WHILE_ROUNDS

LOOPS = (scf.ForOp, scf.ParallelOp, scf.WhileOp)

_ARITHMETIC: dict[type[Operation], Callable[[float, float], float]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.DivUIOp: lambda x, y: x // (y or 1),
    arith.DivSIOp: lambda x, y: x // (y or 1),
    arith.FloorDivSIOp: lambda x, y: x // (y or 1),
    arith.CeilDivSIOp: lambda x, y: -(-x // (y or 1)),
    arith.RemUIOp: lambda x, y: x % (y or 1),
    arith.RemSIOp: lambda x, y: x % (y or 1),
}
_RELATIONS: Sequence[Callable[[float, float], bool]] = (
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
)
"""By the number of an integer predicate; the unsigned ones follow in the same order."""


def trips(loop: Operation) -> float:
    """Rounds of one run of a loop; `WHILE_ROUNDS` where a condition ends it."""
    if isinstance(loop, scf.WhileOp):
        return WHILE_ROUNDS
    total = 1.0
    for low, high, step in bounds(loop):
        first, end, by = middle(low), middle(high), middle(step)
        if first is not None and end is not None and by:
            total *= max(0.0, -(-(end - first) // by))
    return total


def bounds(loop: Operation) -> list[tuple[SSAValue, SSAValue, SSAValue]]:
    """First, end and step of each index of a loop."""
    if isinstance(loop, scf.ForOp):
        return [(loop.lb, loop.ub, loop.step)]
    if isinstance(loop, scf.ParallelOp):
        return list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))
    return []


def middle(value: SSAValue) -> float | None:
    """An integer with all indices in the middle of their range; None where it depends on data."""
    if isinstance(value, BlockArgument):
        return _middle_of_index(value)
    op = value.owner
    assert not isinstance(op, Block)
    if isinstance(op, arith.ConstantOp):
        return op.value.value.data if isinstance(op.value, IntegerAttr) else None
    if isinstance(op, arith.IndexCastOp):
        return middle(op.input)
    if isinstance(op, arith.SelectOp):
        chosen = middle(op.cond)
        return None if chosen is None else middle(op.lhs if chosen else op.rhs)
    compute = _ARITHMETIC.get(type(op))
    if isinstance(op, arith.CmpiOp):
        number = op.predicate.value.data
        compute = _RELATIONS[number if number < len(_RELATIONS) else number - 4]
    if compute is None:
        return None
    operands = [middle(operand) for operand in op.operands]
    known = [operand for operand in operands if operand is not None]
    return compute(*known) if len(known) == len(operands) else None


def _middle_of_index(value: BlockArgument) -> float | None:
    loop = value.block.parent_op()
    limits = bounds(loop) if loop is not None else []
    if value.index >= len(limits):
        return None
    first, end, step = (middle(limit) for limit in limits[value.index])
    if first is None or end is None or not step:
        return None
    rounds = max(0.0, -(-(end - first) // step))
    return first + (rounds // 2) * step
