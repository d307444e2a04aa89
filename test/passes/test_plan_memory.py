"""Offsets that `plan-memory` gives: buffers alive together never overlap, and little is wasted."""

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, f32, i1, i8, i64

from lamina.passes.memory.plan_memory import Buffer, assign_offsets, byte_size

Spans = list[tuple[int, int, int]]
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 12)), max_size=40)


def buffers_of(drawn: Spans) -> list[Buffer]:
    """Buffers of so many cache lines, first position and length of life."""
    allocation = memref.AllocOp.get(f32, 64, [1])
    return [Buffer([allocation], 64 * size, first, first + more) for size, first, more in drawn]


@given(spans)
def test_buffers_alive_together_do_not_overlap(drawn: Spans) -> None:
    buffers = buffers_of(drawn)
    total = assign_offsets(buffers)
    for number, one in enumerate(buffers):
        assert one.offset >= 0 and one.offset + one.size <= total
        assert one.offset % 64 == 0
        for other in buffers[number + 1 :]:
            if one.overlaps(other):
                assert (
                    one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
                )


@given(spans)
def test_arena_is_between_the_peak_and_the_sum(drawn: Spans) -> None:
    buffers = buffers_of(drawn)
    total = assign_offsets(buffers)
    positions = {b.first for b in buffers}
    alive = [sum(b.size for b in buffers if b.first <= at <= b.last) for at in positions]
    assert max(alive, default=0) <= total <= sum(b.size for b in buffers)


def test_a_chain_needs_two_buffers() -> None:
    """One is read while the next is written, however long the chain."""
    buffers = buffers_of([(4, at, 1) for at in range(20)])
    assert assign_offsets(buffers) == 2 * 4 * 64


def test_equal_lives_take_their_sum() -> None:
    assert assign_offsets(buffers_of([(3, 0, 5), (1, 0, 5), (2, 2, 1)])) == 6 * 64


def test_no_buffers_take_nothing() -> None:
    assert assign_offsets([]) == 0


def test_byte_size() -> None:
    assert byte_size(MemRefType(f32, [3, 5])) == 60
    assert byte_size(MemRefType(i1, [7])) == 7
    assert byte_size(MemRefType(i8, [7])) == 7
    assert byte_size(MemRefType(i64, [])) == 8
    assert byte_size(MemRefType(f32, [4, 0])) == 0
