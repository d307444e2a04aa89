"""Blocks of live rows where several sizes are digits of their numbers, with whole rows behind."""

from __future__ import annotations

from xdsl.ir import Block

from lamina.dialects.loop.live_rows import Digit
from lamina.passes.schedule.emitter import INDEX, Emitter
from lamina.passes.schedule.even_blocks import shares_evenly
from lamina.passes.schedule.live_rows import End, block_ends, together


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
