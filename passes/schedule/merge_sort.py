"""Rows sorted by merging: runs of `RUN` elements by rank, then pairs of runs, back and forth."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.pairs import Pairs, goes_first
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.ranks import emit_rank

RUN = 8
"""Elements whose ranks are counted faster than they are merged."""

Load = Callable[[Emitter, Index], tuple[SSAValue, SSAValue]]
"""Key and position of the element at an index of a row."""


def emit_merge_sort(
    emit: Emitter,
    load: Load,
    results: Pairs,
    work: Pairs,
    length: Index,
    *,
    most: int,
    down: bool,
) -> None:
    """Sort what `load` gives for 0 .. `length`, at most `most` elements, into `results`.

    The sort is stable. `load` reads neither results nor work. The number of passes depends on
    `most` alone, so that the last one ends in the results.
    """
    passes = 0
    while RUN << passes < most:
        passes += 1
    start, other = (results, work) if passes % 2 == 0 else (work, results)
    _rank_runs(emit, load, start, length, down)
    width, source, target = emit.value(RUN), start, other
    if passes % 2:
        _merge_pass(emit, source, target, length, width, down)
        width, source, target = emit.value(2 * RUN), target, source
    if passes < 2:
        return

    def twice(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        step = values[0]
        _merge_pass(e, source, target, length, step, down)
        double = e.add(arith.AddiOp(step, step))
        _merge_pass(e, target, source, length, double, down)
        return [e.add(arith.AddiOp(double, double))]

    emit.loop(0, passes // 2, 1, [width], twice)


def _rank_runs(emit: Emitter, load: Load, to: Pairs, length: Index, down: bool) -> None:
    """Each element goes to the place of its rank: how many of its run must stand before it."""

    def run(inner: Emitter, number: list[Index]) -> None:
        low = inner.times(number[0], RUN)
        high = inner.least(inner.plus(low, RUN), length)

        def element(e: Emitter, at: list[Index]) -> None:
            here = e.value(at[0])
            key, place = load(e, here)

            def other_key(k: Emitter, other: Index) -> SSAValue:
                return load(k, k.value(other))[0]

            rank = emit_rank(e, other_key, here, key, (low, high), down)
            to.store(e, rank, key, place)

        over_points(inner, [(low, high)], element)

    over_points(emit, [(0, emit.quotient(emit.plus(length, RUN - 1), RUN))], run)


def _merge_pass(
    emit: Emitter,
    source: Pairs,
    to: Pairs,
    length: Index,
    width: SSAValue,
    down: bool,
) -> None:
    """Merge each pair of neighbouring runs of `width` elements."""
    double = emit.add(arith.AddiOp(width, width))
    over = emit.add(arith.AddiOp(emit.value(emit.minus(length, 1)), double))
    pairs = emit.add(arith.DivUIOp(over, double))

    def merge(inner: Emitter, number: list[Index]) -> None:
        low = inner.add(arith.MuliOp(inner.value(number[0]), double))
        middle = inner.least(inner.plus(low, width), length)
        high = inner.least(inner.plus(low, double), length)
        ends = [inner.value(end) for end in (low, middle, high)]
        last = inner.value(inner.minus(length, 1))

        def element(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            return _merge_step(e, source, to, e.value(at), values, ends, last, down)

        inner.loop(ends[0], ends[2], 1, ends[:2], element)

    over_points(emit, [(0, pairs)], merge)


def _merge_step(
    emit: Emitter,
    source: Pairs,
    to: Pairs,
    at: SSAValue,
    heads: list[SSAValue],
    ends: list[SSAValue],
    last: SSAValue,
    down: bool,
) -> list[SSAValue]:
    """Write the one of two heads that comes first, without a branch; returns the new heads."""
    left, right = heads
    # A head behind its run may be behind the row: what is read there instead does not matter.
    safe_left, safe_right = (emit.add(arith.MinUIOp(head, last)) for head in heads)
    left_key, left_place = source.load(emit, safe_left)
    right_key, right_place = source.load(emit, safe_right)
    left_over = emit.add(arith.CmpiOp(left, ends[1], "uge"))
    right_there = emit.add(arith.CmpiOp(right, ends[2], "ult"))
    smaller = goes_first(emit, right_key, left_key, down)
    wanted = emit.add(arith.OrIOp(left_over, smaller))
    take = emit.add(arith.AndIOp(right_there, wanted))
    key = emit.add(arith.SelectOp(take, right_key, left_key))
    place = emit.add(arith.SelectOp(take, right_place, left_place))
    to.store(emit, at, key, place)
    one = emit.value(1)
    next_left = emit.add(arith.SelectOp(take, left, emit.add(arith.AddiOp(left, one))))
    next_right = emit.add(arith.SelectOp(take, emit.add(arith.AddiOp(right, one)), right))
    return [next_left, next_right]
