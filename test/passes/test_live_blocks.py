"""Blocks of live rows where several sizes are digits of their numbers, with whole rows behind."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Block

from lamina.dialects.loop.live_rows import Digit
from lamina.passes.schedule.emitter import INDEX, Emitter
from lamina.passes.schedule.even_blocks import shares_evenly
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
