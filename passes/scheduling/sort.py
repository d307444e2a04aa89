"""Schedule of `loop.sort`: bottom-up merge sort of each row, rows in parallel.

Runs of `RUN` elements are sorted by rank; passes then merge pairs of runs from one buffer to
the other and back. The number of passes is known, so that the last one ends in the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop import SortOp
from lamina.dialects.loop.access import shape_of
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.memory import Memory
from lamina.passes.scheduling.points import in_tasks, over_points

RUN = 8
"""Elements whose ranks are counted faster than they are merged."""


@dataclass
class Pairs:
    """Keys and the positions that they had, in rank-1 memrefs."""

    keys: SSAValue
    places: SSAValue

    def load(self, emit: Emitter, at: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Key and position at an index."""
        key = emit.add(memref.LoadOp.get(self.keys, [at]))
        return key, emit.add(memref.LoadOp.get(self.places, [at]))

    def store(self, emit: Emitter, at: SSAValue, key: SSAValue, place: SSAValue) -> None:
        """Write key and position at an index."""
        emit.run(memref.StoreOp.get(key, self.keys, [at]))
        emit.run(memref.StoreOp.get(place, self.places, [at]))


def schedule_sort(emit: Emitter, op: SortOp, memory: Memory, forks: bool) -> None:
    """Emit a task for each row."""
    *rows, length = shape_of(op.input)
    if length == 0 or 0 in rows:
        return
    flat = [memory.flat[out] for out in op.outs]
    results, work = Pairs(flat[0], flat[1]), Pairs(flat[2], flat[3])
    passes = 0
    while RUN << passes < length:
        passes += 1
    start, other = (results, work) if passes % 2 == 0 else (work, results)
    down = op.descending is not None

    def row(inner: Emitter, number: Index) -> None:
        base = inner.times(number, length)
        _rank_runs(inner, memory.flat[op.input], start, base, length, down)
        width, source, target = inner.value(RUN), start, other
        if passes % 2:
            _merge_pass(inner, source, target, base, length, width, down)
            width, source, target = inner.value(2 * RUN), target, source
        if passes < 2:
            return

        def twice(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            step = values[0]
            _merge_pass(e, source, target, base, length, step, down)
            double = e.add(arith.AddiOp(step, step))
            _merge_pass(e, target, source, base, length, double, down)
            return [e.add(arith.AddiOp(double, double))]

        inner.loop(0, passes // 2, 1, [width], twice)

    in_tasks(emit, prod(rows), forks, row)


def goes_first(emit: Emitter, later: SSAValue, earlier: SSAValue, down: bool) -> SSAValue:
    """Whether an element that stands later must go before one that stands earlier."""
    kind = later.type
    if isinstance(kind, IntegerType):
        unsigned = kind == i1 or kind.signedness.data == Signedness.UNSIGNED
        predicate = ("u" if unsigned else "s") + ("gt" if down else "lt")
        return emit.add(arith.CmpiOp(later, earlier, predicate))
    ordered = emit.add(arith.CmpfOp(later, earlier, "ogt" if down else "olt"))
    # NaN is the largest.
    large, small = (later, earlier) if down else (earlier, later)
    large_nan = emit.add(arith.CmpfOp(large, large, "uno"))
    small_number = emit.add(arith.CmpfOp(small, small, "ord"))
    return emit.add(arith.OrIOp(ordered, emit.add(arith.AndIOp(large_nan, small_number))))


def _rank_runs(
    emit: Emitter, source: SSAValue, to: Pairs, base: Index, length: int, down: bool
) -> None:
    """Each element goes to the place of its rank: how many of its run must stand before it."""

    def run(inner: Emitter, number: list[Index]) -> None:
        low = inner.times(number[0], RUN)
        high = inner.least(inner.plus(low, RUN), length)

        def element(e: Emitter, at: list[Index]) -> None:
            here = e.value(e.plus(base, at[0]))
            key = e.add(memref.LoadOp.get(source, [here]))
            place = e.add(arith.IndexCastOp(e.value(at[0]), i64))

            def count(k: Emitter, other: Index, ranks: list[SSAValue]) -> list[SSAValue]:
                there = k.value(k.plus(base, other))
                against = k.add(memref.LoadOp.get(source, [there]))
                earlier = k.add(arith.CmpiOp(there, here, "ult"))
                sooner = goes_first(k, against, key, down)
                not_later = k.add(arith.XOrIOp(goes_first(k, key, against, down), k.number(1, i1)))
                before = k.add(arith.SelectOp(earlier, not_later, sooner))
                more = k.add(arith.AddiOp(ranks[0], k.value(1)))
                return [k.add(arith.SelectOp(before, more, ranks[0]))]

            [rank] = e.loop(low, high, 1, [e.value(e.plus(base, low))], count)
            to.store(e, rank, key, place)

        over_points(inner, [(low, high)], element)

    over_points(emit, [(0, -(-length // RUN))], run)


def _merge_pass(
    emit: Emitter,
    source: Pairs,
    to: Pairs,
    base: Index,
    length: int,
    width: SSAValue,
    down: bool,
) -> None:
    """Merge each pair of neighbouring runs of `width` elements."""
    double = emit.add(arith.AddiOp(width, width))
    over = emit.add(arith.AddiOp(emit.value(length - 1), double))
    pairs = emit.add(arith.DivUIOp(over, double))

    def merge(inner: Emitter, number: list[Index]) -> None:
        low = inner.add(arith.MuliOp(inner.value(number[0]), double))
        middle = inner.least(inner.plus(low, width), length)
        high = inner.least(inner.plus(low, double), length)
        ends = [inner.value(inner.plus(base, end)) for end in (low, middle, high)]
        last = inner.value(inner.minus(inner.plus(base, length), 1))

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
