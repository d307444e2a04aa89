"""How often loops of a scheduled kernel go round, on average over the rounds of outer loops.

Bounds of blocks, of the rest that tiles leave, and of what a mask leaves are arithmetic of outer
indices: it is evaluated at places of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

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


WHILE_ROUNDS = 16
"""Rounds of a loop by a condition: nobody knows their number."""
SAMPLES = 16
"""Places of an outer loop, at most, at which a bound that depends on it is evaluated."""
SAMPLES_OF_SEVERAL = 4
"""The same for each of several outer loops."""

Limits = tuple[SSAValue, SSAValue, SSAValue]
"""First, end and step of an index."""
Places = Mapping[SSAValue, float]
"""Numbers that indices of outer loops have."""


def trips(loop: Operation) -> float:
    """Rounds of a run of a loop, on average; `WHILE_ROUNDS` where a condition ends it."""
    if isinstance(loop, scf.WhileOp):
        return WHILE_ROUNDS
    total = 1.0
    for limits in bounds(loop):
        rounds = _mean(limits, partial(_rounds, limits))
        total *= 1.0 if rounds is None else rounds
    return total


def share(condition: SSAValue) -> float | None:
    """How often a condition holds, 0 to 1; None where it depends on data."""
    return _mean([condition], partial(_number, condition))


def bounds(loop: Operation) -> list[Limits]:
    """First, end and step of each index of a loop."""
    if isinstance(loop, scf.ForOp):
        return [(loop.lb, loop.ub, loop.step)]
    if isinstance(loop, scf.ParallelOp):
        return list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))
    return []


def _rounds(limits: Limits, places: Places) -> float | None:
    first, end, step = (_number(limit, places) for limit in limits)
    return None if first is None or end is None or not step else max(0.0, -(-(end - first) // step))


def _mean(values: Sequence[SSAValue], compute: Callable[[Places], float | None]) -> float | None:
    """What is computed of values, on average over the indices of outer loops behind them."""
    indices = list(dict.fromkeys(index for value in values for index in _indices(value)))
    most = SAMPLES if len(indices) == 1 else SAMPLES_OF_SEVERAL
    return _mean_over(indices, most, compute, {})


def _mean_over(
    indices: Sequence[BlockArgument],
    most: int,
    compute: Callable[[Places], float | None],
    places: Places,
) -> float | None:
    if not indices:
        return compute(places)
    index, *others = indices
    loop = index.block.parent_op()
    limits = bounds(loop)[index.index] if loop is not None else None
    rounds = None if limits is None else _rounds(limits, places)
    if limits is None or rounds is None:
        return None
    first, step = _number(limits[0], places) or 0.0, _number(limits[2], places) or 1.0
    count = min(most, int(rounds))
    total = 0.0
    for number in range(count):
        # All rounds, or those in the middle of equal parts of them.
        at = first + step * ((2 * number + 1) * int(rounds) // (2 * count))
        found = _mean_over(others, most, compute, {**places, index: at})
        if found is None:
            return None
        total += found
    return total / max(1, count)


def _indices(value: SSAValue) -> list[BlockArgument]:
    """The indices of outer loops that a number depends on, outer ones first."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        limits = bounds(loop) if loop is not None else []
        if value.index >= len(limits):
            return []
        return [*(i for limit in limits[value.index] for i in _indices(limit)), value]
    op = value.owner
    assert not isinstance(op, Block)
    return [index for operand in op.operands for index in _indices(operand)]


def _number(value: SSAValue, places: Places) -> float | None:
    """An integer at places of outer loops; None where it depends on data."""
    if isinstance(value, BlockArgument):
        return places.get(value)
    op = value.owner
    assert not isinstance(op, Block)
    if isinstance(op, arith.ConstantOp):
        return op.value.value.data if isinstance(op.value, IntegerAttr) else None
    if isinstance(op, arith.IndexCastOp):
        return _number(op.input, places)
    if isinstance(op, arith.SelectOp):
        chosen = _number(op.cond, places)
        return None if chosen is None else _number(op.lhs if chosen else op.rhs, places)
    compute = _ARITHMETIC.get(type(op))
    if isinstance(op, arith.CmpiOp):
        number = op.predicate.value.data
        compute = _RELATIONS[number if number < len(_RELATIONS) else number - 4]
    if compute is None:
        return None
    operands = [_number(operand, places) for operand in op.operands]
    known = [operand for operand in operands if operand is not None]
    return compute(*known) if len(known) == len(operands) else None
