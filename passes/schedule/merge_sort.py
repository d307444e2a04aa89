"""Rows sorted by merging: runs of some elements by rank, then pairs of runs, back and forth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.passes.cost.unstructured_cost import MERGED_RUN
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.pairs import Load, OrderedPairs, Pairs, SortedRow
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.ranks import emit_rank
from lamina.passes.schedule.words import WordVectors, numbers_in, pack_words


class Row(Protocol):
    """Memory of what is merged, one or more values for an element."""

    def load(self, emit: Emitter, at: Index) -> tuple[SSAValue, ...]: ...

    def put(self, emit: Emitter, at: Index, values: Sequence[SSAValue]) -> None: ...

    def sooner(
        self, emit: Emitter, later: tuple[SSAValue, ...], earlier: tuple[SSAValue, ...]
    ) -> SSAValue: ...


def emit_merge_sort(emit: Emitter, load: Load, row: SortedRow) -> None:
    """Sort what `load` gives for 0 .. `row.end`; it reads neither results nor work.

    The sort is stable. With `lanes`, of which there are not more than elements, keys are numbers,
    of which so many vectors are a run.
    """
    if row.lanes > 1:
        _sort_words(emit, load, row, WordVectors.of(emit, row.lanes, row.vectors))
        return
    length, down = row.length, row.keys.down
    ends = [OrderedPairs(p.keys, p.places, p.base, down) for p in (row.results, row.work)]
    start, other = ends if _passes(length, MERGED_RUN) % 2 == 0 else ends[::-1]
    _rank_runs(emit, load, start, row.end, down)
    _merge_runs(emit, start, other, row.end, MERGED_RUN, _passes(length, MERGED_RUN))


def _sort_words(emit: Emitter, load: Load, row: SortedRow, ranked: WordVectors) -> None:
    """The same of numbers, which stand in the memory of places, or in that of both."""
    length, live = row.length, row.end
    ends = [numbers_in(p, row.kind) for p in (row.results, row.work)]
    start, other = ends if _passes(length, ranked.run) % 2 == 0 else ends[::-1]
    pack_words(emit, load, other, live, down=row.keys.down)

    def own_run(e: Emitter, first: Index) -> tuple[Index, Index]:
        return first, e.least(e.plus(first, ranked.run), live)

    def put(first: Index, e: Emitter, rank: SSAValue, values: tuple[SSAValue, ...]) -> None:
        start.put(e, e.plus(first, rank), values)

    ranked.rank(emit, other, live, own_run, put)
    _merge_runs(emit, start, other, live, ranked.run, _passes(length, ranked.run))

    def unpack(e: Emitter, at: list[Index]) -> None:
        place = ends[0].place(e, ends[0].load(e, at[0]))
        row.results.store(e, at[0], *load(e, place))

    over_points(emit, [(0, live)], unpack)


def _passes(length: int, run: int) -> int:
    """How often runs are merged until there is one."""
    return (-(-length // run) - 1).bit_length()


def _rank_runs(emit: Emitter, load: Load, to: Pairs, length: Index, down: bool) -> None:
    """Each element goes to the place of its rank: how many of its run must stand before it."""

    def run(inner: Emitter, number: list[Index]) -> None:
        low = inner.times(number[0], MERGED_RUN)
        high = inner.least(inner.plus(low, MERGED_RUN), length)

        def element(e: Emitter, at: list[Index]) -> None:
            here = e.value(at[0])
            key, place = load(e, here)

            def other_key(k: Emitter, other: Index) -> SSAValue:
                return load(k, k.value(other))[0]

            rank = emit_rank(e, other_key, here, key, (low, high), down)
            to.store(e, rank, key, place)

        over_points(inner, [(low, high)], element)

    runs = emit.quotient(emit.plus(length, MERGED_RUN - 1), MERGED_RUN)
    over_points(emit, [(0, runs)], run)


def _merge_runs(
    emit: Emitter, start: Row, other: Row, length: Index, run: int, passes: int
) -> None:
    """Merges runs that stand in `start`; the row ends in `other` after an odd number of passes.

    Those behind the one that leaves a single run copy it.
    """
    width, source, target = emit.value(run), start, other
    if passes % 2:
        _merge_pass(emit, source, target, length, width)
        width, source, target = emit.value(2 * run), target, source
    if passes < 2:
        return

    def twice(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        step = values[0]
        _merge_pass(e, source, target, length, step)
        double = e.add(arith.AddiOp(step, step))
        _merge_pass(e, target, source, length, double)
        return [e.add(arith.AddiOp(double, double))]

    emit.loop(0, passes // 2, 1, [width], twice)


def _merge_pass(emit: Emitter, source: Row, to: Row, length: Index, width: SSAValue) -> None:
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
            return _merge_step(e, source, to, e.value(at), values, ends, last)

        inner.loop(ends[0], ends[2], 1, ends[:2], element)

    over_points(emit, [(0, pairs)], merge)


def _merge_step(
    emit: Emitter,
    source: Row,
    to: Row,
    at: SSAValue,
    heads: list[SSAValue],
    ends: list[SSAValue],
    last: SSAValue,
) -> list[SSAValue]:
    """Write the one of two heads that comes first, without a branch; returns the new heads."""
    left, right = heads
    # A head behind its run may be behind the row: what is read there instead does not matter.
    lefts, rights = (source.load(emit, emit.add(arith.MinUIOp(head, last))) for head in heads)
    left_over = emit.add(compare_op(left, ends[1], "uge"))
    right_there = emit.add(compare_op(right, ends[2], "ult"))
    smaller = source.sooner(emit, rights, lefts)
    wanted = emit.add(arith.OrIOp(left_over, smaller))
    take = emit.add(arith.AndIOp(right_there, wanted))
    taken = [emit.add(arith.SelectOp(take, *both)) for both in zip(rights, lefts, strict=True)]
    to.put(emit, at, taken)
    one = emit.value(1)
    next_left = emit.add(select_op(take, left, emit.add(arith.AddiOp(left, one))))
    next_right = emit.add(select_op(take, emit.add(arith.AddiOp(right, one)), right))
    return [next_left, next_right]
