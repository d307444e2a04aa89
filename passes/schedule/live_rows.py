"""Loops over the rows of a kernel that count: their ends, and the row that a task is at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects import arith, func
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    FourierOp,
    GenericOp,
    LiveCountOp,
    LiveRowOp,
    LiveTurnsOp,
    ScatterOp,
    SortOp,
)
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import copied_of, live_rows_of, rows_of
from lamina.dialects.loop.live_rows import Digit, LiveRows
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.scalar_ops import binary_op, select_op
from lamina.dialects.op_list import list_ops
from lamina.dialects.records import record
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, known_index


@record
class End:
    """A digit of a loop counter: `extent` positions in the whole domain, of which it takes those
    below `end`."""

    extent: int
    end: Index

    @staticmethod
    def of(extent: int) -> End:
        """All positions."""
        return End(extent, extent)


def live_digits(op: GenericOp | OrderedNest | SortOp | FourierOp) -> dict[int, tuple[Digit, ...]]:
    """The digits of each row dimension of an op, if not all of its rows count."""
    live, rows = live_rows_of(op), rows_of(op)
    extents = op.extents if isinstance(op, GenericOp) else op.row_extents
    found = None if live is None else live.by_row([extents[d] for d in rows])
    return {} if found is None else dict(zip(rows, found, strict=True))


def kept_digits(op: ScatterOp) -> list[Digit | None]:
    """Along each axis of a scatter's result, the digit of a call's number behind which nothing is
    copied, nor written."""
    shape, copied = shape_of(op.into), copied_of(op)
    digits = None if copied is None else copied.by_row(shape)
    if digits is None:
        return [None] * len(shape)
    return [own[0] if len(own) == 1 and own[0].count is not None else None for own in digits]


def open_rows(nest: GenericOp) -> frozenset[int]:
    """The row dimensions of a nest that end at numbers of the call."""
    digits = live_digits(nest)
    return frozenset(d for d, own in digits.items() if any(g.count is not None for g in own))


def joined_live_rows(nest: GenericOp, dims: Sequence[int]) -> LiveRows | None:
    """The digits of rows that are walked as one; None where all of them count."""
    digits = live_digits(nest)
    live = LiveRows(tuple(digit for dim in dims for digit in digits.get(dim, ())))
    return live if live.counts else None


def over_operands(live: LiveRows, block: Block) -> tuple[LiveRows, list[SSAValue]]:
    """Digits that end at operands of an op, for those that end at arguments of a kernel."""
    digits, numbers = live.over_operands()
    return digits, [block.args[number] for number in numbers]


def ends_of(
    emit: Emitter, digits: Sequence[Digit], flat: Mapping[int, SSAValue], least: int = 1
) -> list[End]:
    """Where digits end. `flat` are the arguments in memory, of one element, by their numbers.

    A count out of its range, which begins at `least`, is taken as the nearest in it: kernels do not
    leave their memory.
    """
    found: list[End] = []
    for digit in digits:
        if digit.count is None:
            found.append(End.of(digit.extent))
            continue
        count = emit.most(emit.read_index(flat[digit.count]), least)
        found.append(End(digit.extent, digit_end(emit, digit, count)))
    return found


def digit_end(emit: Emitter, digit: Digit, count: Index) -> Index:
    """Where a digit ends, whose number is `count`."""
    if digit.panel > 1:
        count = emit.quotient(emit.plus(count, digit.panel - 1), digit.panel)
    return emit.least(emit.times(count, digit.factor), digit.extent)


def count_of(emit: Emitter, ends: Sequence[End]) -> Index:
    """How many positions digits take together."""
    total: Index = prod(end.end for end in ends if isinstance(end.end, int))
    for end in ends:
        if not isinstance(end.end, int):
            total = times(emit, total, end.end)
    return total


def split_digits(emit: Emitter, number: Index, groups: Sequence[Sequence[End]]) -> list[Index]:
    """The position in each group of digits, of a number that counts what they take."""
    ends = [end for group in groups for end in group]
    found: list[Index] = []
    for end in reversed(ends[1:]):
        rest, number = divided(emit, number, end.end)
        found.append(rest)
    if ends:
        found.append(number)
    found.reverse()
    positions: list[Index] = []
    for group in groups:
        own, found = found[: len(group)], found[len(group) :]
        position: Index = own[0] if own else 0
        for end, digit in zip(group[1:], own[1:], strict=True):
            position = emit.plus(emit.times(position, end.extent), digit)
        positions.append(position)
    return positions


def together(emit: Emitter, ends: Sequence[End]) -> list[End]:
    """The same digits, the last that has an end joined with those behind it, which are whole."""
    last = max((n for n, end in enumerate(ends) if not isinstance(end.end, int)), default=None)
    if last is None:
        return list(ends)
    whole = prod(end.extent for end in ends[last + 1 :])
    joined = End(ends[last].extent * whole, emit.times(ends[last].end, whole))
    return [*ends[:last], joined]


def block_ends(emit: Emitter, ends: Sequence[End], rows: int, size: int) -> list[End]:
    """The digits of the numbers of blocks of rows that hold any that count."""
    ends = together(emit, ends)
    blocks = -(-rows // size)
    inner = ends[-1].extent if ends else 1
    if len(ends) > 1 and inner % size == 0:
        return [*ends[:-1], End(inner // size, _rounded(emit, ends[-1].end, size))]
    if not ends or isinstance(ends[0].end, int):
        return [End.of(blocks)]
    live = emit.times(ends[0].end, prod(end.extent for end in ends[1:]))
    return [End(blocks, _rounded(emit, live, size))]


def block_end(emit: Emitter, low: Index, ends: Sequence[End], size: int, fewest: int) -> Index:
    """Where a block of rows from `low` on ends: behind those that count, `fewest` at least."""
    ends = together(emit, ends)
    inner = ends[-1].extent
    within, live = low, emit.times(ends[0].end, prod(end.extent for end in ends[1:]))
    if len(ends) > 1 and inner % size == 0:
        within, live = emit.remainder(low, inner), ends[-1].end
    elif isinstance(ends[0].end, int):
        return emit.plus(low, size)
    left = emit.most(emit.minus(live, within), fewest)
    return emit.plus(low, emit.least(left, size))


def row_ahead(
    emit: Emitter, nest: GenericOp, dims: Sequence[int], row: Index, distance: int
) -> Index:
    """The row of a task so far behind `row` in these dimensions of a nest, or one that counts.

    What says where to read may be padding in rows that do not count, or no memory at all. Those in
    front end at the last row that counts; where rows that count lie behind others, the row itself
    stands for one that does not.
    """
    live = joined_live_rows(nest, dims)
    ahead = emit.plus(row, distance)
    if live is None:
        return emit.least(ahead, prod(nest.extents[d] for d in dims) - 1)
    first, *rest = live.digits
    if all(digit.count is None for digit in rest):
        rows = emit.times(_live_end(emit, first), prod(digit.extent for digit in rest))
        return emit.least(ahead, emit.minus(rows, 1))
    ahead = emit.least(ahead, live.rows - 1)
    counts: SSAValue | None = None
    places = emit.split(ahead, [digit.extent for digit in live.digits])
    for digit, place in zip(live.digits, places, strict=True):
        if digit.count is None:
            continue
        below = compare(emit, emit.value(place), emit.value(_live_end(emit, digit)), "ult")
        counts = below if counts is None else emit.add(arith.AndIOp(counts, below))
    assert counts is not None
    return emit.add(select_op(counts, emit.value(ahead), emit.value(row)))


def _live_end(emit: Emitter, digit: Digit) -> Index:
    live, counts = over_operands(LiveRows((digit,)), emit.entry)
    return emit.add(LiveCountOp(counts, live))


def expand_live_ops(function: func.FuncOp, flat: Mapping[SSAValue, SSAValue]) -> None:
    """Replace counts and rows by index arithmetic; `flat` are the kernel's arguments in memory."""
    known: dict[tuple[LiveRows, tuple[SSAValue, ...]], list[End]] = {}
    for op in list_ops(function):
        if type(op) not in (LiveCountOp, LiveRowOp, LiveTurnsOp):
            continue
        assert isinstance(op, LiveCountOp | LiveRowOp | LiveTurnsOp)
        outermost: Operation = op
        while (above := outermost.parent_op()) is not function:
            assert above is not None
            outermost = above
        key = (op.live.data, tuple(op.counts))
        emit = Emitter(Block())
        if key not in known:
            memory = {number: flat[value] for number, value in enumerate(op.counts)}
            known[key] = ends_of(emit, op.live.data.digits, memory)
            _insert(emit, outermost)
        ends = known[key]
        if isinstance(op, LiveCountOp):
            made = count_of(emit, ends)
        elif isinstance(op, LiveTurnsOp):
            made = _turns(emit, op, ends[-1])
        else:
            (row,) = split_digits(emit, op.number, [ends])
            made = emit.least(row, op.live.data.rows - 1)  # of a number that is too large
        value = emit.value(made)
        _insert(emit, op)
        op.result.replace_all_uses_with(value)
        op.detach()
        op.erase()


def _turns(emit: Emitter, op: LiveTurnsOp, end: End) -> Index:
    """How many rows of a task are live."""
    if end.extent == op.rows:
        return end.end
    left = emit.minus(end.end, emit.times(known_index(op.number), op.rows))
    return emit.least(emit.most(left, 0), op.rows)


def _insert(emit: Emitter, place: Operation) -> None:
    """Move what was emitted in front of an op."""
    block = place.parent
    assert block is not None
    for op in block_ops(emit.block):
        op.detach()
        block.insert_op_before(op, place)


def _rounded(emit: Emitter, count: Index, size: int) -> Index:
    return emit.quotient(emit.plus(count, size - 1), size)


def times(emit: Emitter, left: Index, right: Index) -> Index:
    """left * right."""
    if isinstance(right, int):
        return emit.times(left, right)
    if isinstance(left, int):
        return emit.times(right, left)
    product = emit.add(binary_op(arith.MuliOp, left, right))
    emit.divisors[product] = emit.divisor(left) * emit.divisor(right)
    return product


def divided(emit: Emitter, number: Index, by: Index) -> tuple[Index, Index]:
    """Remainder and quotient."""
    if isinstance(by, int):
        return emit.remainder(number, by), emit.quotient(number, by)
    value = emit.value(number)
    rest = emit.add(binary_op(arith.RemUIOp, value, by))
    return rest, emit.add(binary_op(arith.DivUIOp, value, by))
