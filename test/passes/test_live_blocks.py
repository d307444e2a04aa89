"""Blocks of live rows where several sizes are digits of their numbers, with whole rows behind."""

from __future__ import annotations

import operator

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Block, SSAValue

from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.team import NumThreadsOp
from lamina.passes.schedule.emitter import INDEX, Emitter
from lamina.passes.schedule.even_blocks import BlockRows, EvenBlocks, shares_evenly
from lamina.passes.schedule.live_rows import End, block_ends, ends_of, together
from lamina.passes.schedule.product_ends import ProductEnds
from lamina.passes.schedule.sum_blocks import SumBlock, SumCut, over_sum_to


def test_whole_rows_are_counted_with_the_digit_in_front_of_them() -> None:
    block = Block(arg_types=[INDEX, INDEX])
    emit, (images, lines) = Emitter(block), block.args
    ends = [End(16, images), End(8, lines), End.of(4), End.of(16)]
    joined = together(emit, ends)
    assert [end.extent for end in joined] == [16, 512]
    assert joined[0].end is images
    assert joined[1].end is emit.times(lines, 64)
    assert together(emit, joined) == joined
    assert together(emit, [End.of(4), End.of(16)]) == [End.of(4), End.of(16)]


def test_blocks_end_at_each_of_the_sizes() -> None:
    block = Block(arg_types=[INDEX, INDEX])
    emit, (images, lines) = Emitter(block), block.args
    ends = [End(16, images), End(8, lines), End.of(64)]
    blocks = block_ends(emit, ends, 16 * 8 * 64, 64)
    assert [end.extent for end in blocks] == [16, 8]
    # Blocks that do not divide the rows of an image end at the images alone.
    assert [end.extent for end in block_ends(emit, ends, 16 * 8 * 64, 96)] == [86]


def test_rows_that_lie_together_are_those_behind_the_last_size() -> None:
    digits = [Digit(16, 2), Digit(2, 3), Digit(8)]
    assert shares_evenly(digits, 100, 8)
    assert not shares_evenly(digits, 100, 9)
    assert shares_evenly([Digit(16, 2), Digit(2), Digit(8)], 100, 9)
    assert not shares_evenly([Digit(16)], 100, 1)


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize(
    ("fewest", "tile", "most"), [(1, 8, 125), (8, 8, 125), (8, 8, 16), (1, 1, 33), (1, 14, 96)]
)
def test_blocks_have_all_rows_once_and_end_with_whole_tiles(
    threads: int, fewest: int, tile: int, most: int
) -> None:
    """Of any number of rows that count: each block has as many as it may have."""
    for live in (*range(fewest, 70), 97, 124, 125, 126, 197, 250, 256, 999, 1000):
        found = _dealt(live, BlockRows.of(fewest, most, tile), threads)
        assert [low for low, _ in found[1:]] == [high for _, high in found[:-1]]
        assert (found[0][0], found[-1][1]) == (0, live)
        sizes = [high - low for low, high in found]
        assert fewest <= min(sizes) and max(sizes) <= most
        if min(sizes) >= 5 * tile:
            assert all(size % tile == 0 for size in sizes[:-1])


def _dealt(live: int, rows: BlockRows, threads: int) -> list[tuple[int, int]]:
    """The rows of each block, as what is emitted says."""
    block = Block(arg_types=[INDEX, INDEX])
    emit, (end, number) = Emitter(block), block.args
    even = EvenBlocks.of(emit, [End(1000, end)], 1, rows, threads)
    bounds = [emit.value(bound) for bound in even.rows(emit, number)]
    known = _values(block, {end: live, number: 0}, threads)
    count = known[emit.value(even.count)]
    every = (_values(block, {end: live, number: at}, threads) for at in range(count))
    return [(values[bounds[0]], values[bounds[1]]) for values in every]


def _values(block: Block, given: dict[SSAValue, int], threads: int) -> dict[SSAValue, int]:
    """What index arithmetic gives, op by op."""
    known = dict(given)
    for op in block.ops:
        (result,) = op.results
        if isinstance(op, arith.ConstantOp):
            known[result] = op.value.value.data  # pyright: ignore
        elif isinstance(op, NumThreadsOp):
            known[result] = threads
        elif isinstance(op, arith.CmpiOp):
            compare = {0: operator.eq, 1: operator.ne, 2: operator.lt}[op.predicate.value.data]
            known[result] = compare(known[op.lhs], known[op.rhs])
        elif isinstance(op, arith.SelectOp):
            known[result] = known[op.lhs if known[op.cond] else op.rhs]
        else:
            known[result] = ARITHMETIC[op.name](*(known[operand] for operand in op.operands))
    return known


ARITHMETIC = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": operator.and_,
}


def _blocks(end: int) -> list[SumBlock]:
    found: list[SumBlock] = []
    emit = Emitter(Block())
    over_sum_to(emit, SumCut(0, 16), end, lambda _, point, block: found.append(block))
    return found


def test_blocks_of_a_sum_end_with_its_terms() -> None:
    for end, wanted in ((0, [0, 0]), (10, [10, 0]), (16, [16, 0]), (40, [16, 16, 8])):
        found = _blocks(end)
        assert [block.taken for block in found] == wanted
        assert [block.is_first for block in found] == [True, *[False] * (len(found) - 1)]
        assert [block.is_last for block in found] == [*[False] * (len(found) - 1), True]


def test_a_sum_may_have_no_terms_but_panels_are_one_at_least() -> None:
    block = Block(arg_types=[MemRefType(i64, [])])
    emit, flat = Emitter(block), {0: block.args[0]}
    digit = Digit(64, 0)
    made = ProductEnds(panels=digit, terms=digit).read(emit, flat)
    assert made.terms is not made.panels
    again = [ends_of(Emitter(Block()), [digit], flat, least)[0].end for least in (0, 1)]
    assert [_least(value) for value in (made.terms, made.panels)] == [_least(v) for v in again]


def _least(value: object) -> list[str]:
    """The numbers among which the larger one is taken for an end."""
    owner = value.owner  # pyright: ignore
    inner = [operand.owner for operand in owner.operands]
    return sorted(str(op) for maximum in inner for op in (maximum, *_makers(maximum)))


def _makers(op: object) -> list[object]:
    return [operand.owner for operand in getattr(op, "operands", ())]
