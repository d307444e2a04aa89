"""Schedule of `loop.sort`: rows in parallel, each sorted by merging.

Of many short rows, each lane of a vector puts one in order (`top_of_rows`). Where only some
elements of a longer row, or of few rows, are asked for, the row is not sorted: of short ones, ranks
are counted; the first few are kept while the row is read (`top`); others are found by their digits
(`selection`).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType

from lamina.dialects.loop import SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import taken_of
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.merge_sort import emit_merge_sort
from lamina.passes.schedule.pairs import Keys, Pairs, SortedRow
from lamina.passes.schedule.ranks import emit_by_rank
from lamina.passes.schedule.selection import emit_selection, in_words
from lamina.passes.schedule.top import emit_top, has_vectors
from lamina.passes.schedule.top_of_rows import TopOfRows
from lamina.passes.schedule.words import is_number

RANKING = ("merge", "rank", "selection")
"""Algorithms that count ranks, of several vectors at once."""


def schedule_sort(emit: Emitter, op: SortOp, memory: Memory, tasks: UnstructuredTasks) -> None:
    """Emit a task for each row, by the algorithm of its schedule: a merge sort by default."""
    *rows, length = shape_of(op.input)
    if length == 0 or 0 in rows:
        return
    window, down = op.window, op.descending is not None
    kept, worked = (length, length) if window is None else (window[1], length + window[1])

    count = prod(rows)
    parallel, lanes, vectors = tasks.parallel, tasks.lanes or 1, tasks.unroll or 1
    dims, domain = range(len(rows)), LiveDomain.of(emit, op, memory)
    live, end = domain.count(emit, dims), domain.end(len(rows))
    digits, taken = taken_of(op), None
    if digits is not None:
        taken = LiveDomain.within(emit, [kept], [0], digits, memory).end(0)
    algorithm = tasks.algorithm or ("merge" if window is None else "selection")
    _verify_algorithm(op, algorithm, lanes)
    _verify_sample(op, algorithm, lanes, tasks.sample)
    _verify_open(op, algorithm, tasks)
    if tasks.unroll is not None and (lanes == 1 or algorithm not in RANKING):
        raise illegal(op, f"unroll: of vectors, where algorithm is one of {', '.join(RANKING)}")
    if algorithm == "rows":
        top = TopOfRows.of(length, window or (0, length), lanes)

        def rows_of_lanes(inner: Emitter, number: Index) -> None:
            flat = [memory.flat[out] for out in op.outs]
            first = inner.times(number, lanes)
            if domain.all_count:
                # The last ones may be those of the task before too, which finds the same.
                first = inner.least(first, count - lanes)
                keys = Keys(memory.flat[op.input], inner.times(first, length), down)
                top.emit(inner, keys, Pairs(flat[0], flat[1], inner.times(first, kept)))
                return
            # There may be fewer rows than lanes: lanes behind the last one find the same as it.
            last = inner.minus(live, 1)
            numbers = [inner.least(inner.plus(first, lane), last) for lane in range(lanes)]
            places = [domain.row(inner, at, dims) for at in numbers]
            keys = Keys(memory.flat[op.input], 0, down)
            top.emit_rows(inner, keys, Pairs(flat[0], flat[1], 0), places, end)

        groups = emit.quotient(emit.plus(live, lanes - 1), lanes)
        emit.tasks(groups, rows_of_lanes, parallel=parallel)
        return

    def row(inner: Emitter, number: Index) -> None:
        number = domain.row(inner, number, dims)
        keys = Keys(memory.flat[op.input], inner.times(number, length), down)
        flat = [memory.flat[out] for out in op.outs]
        results = Pairs(flat[0], flat[1], inner.times(number, kept))
        work = Pairs(flat[2], flat[3], inner.times(number, worked))
        wanted = window or (0, length)
        sorted_row = SortedRow(keys, results, work, length, wanted, lanes, vectors, end, taken)
        if window is None:
            emit_merge_sort(inner, keys.load, sorted_row)
        elif algorithm == "rank":
            emit_by_rank(inner, sorted_row)
        elif algorithm == "insertion":
            emit_top(inner, sorted_row)
        else:
            _select(inner, sorted_row, tasks)

    emit.tasks(live, row, parallel=parallel)


def _select(emit: Emitter, row: SortedRow, tasks: UnstructuredTasks) -> None:
    """Select the elements, or sort as many as a call wants in the way that fits their number."""

    def merge_or_select(inner: Emitter) -> None:
        if tasks.left_out is None:
            emit_selection(inner, row, tasks.sample)
            return
        left = inner.times(inner.minus(row.end, inner.least(row.wanted, row.end)), tasks.left_out)
        is_most = inner.add(compare_op(inner.value(left), inner.value(row.end), "ult"))
        inner.branch(
            is_most,
            lambda then: emit_merge_sort(then, row.keys.load, in_words(row)),
            lambda other: emit_selection(other, row, tasks.sample),
        )

    if tasks.few is None:
        merge_or_select(emit)
        return
    is_few = emit.add(compare_op(emit.value(row.wanted), emit.value(tasks.few), "ule"))
    emit.branch(is_few, lambda then: emit_top(then, row), merge_or_select)


def _verify_open(op: SortOp, algorithm: str, tasks: UnstructuredTasks) -> None:
    """Raises InputError for what is said of numbers of a call where it gives none."""
    if tasks.few is None and tasks.left_out is None:
        return
    if algorithm != "selection" or taken_of(op) is None:
        raise illegal(op, "few, left_out: where algorithm = selection, and a number is taken")
    window, length = op.window, shape_of(op.input)[-1]
    if tasks.left_out is not None and window != (0, length):
        raise illegal(op, f"left_out: only where all {length} elements of a row may be taken")


def _verify_sample(op: SortOp, algorithm: str, lanes: int, sample: int | None) -> None:
    """Raises InputError for a sample that has not all elements of the window, or is no part."""
    if sample is None:
        return
    window, length = op.window, shape_of(op.input)[-1]
    kind = op.input.type
    assert isinstance(kind, MemRefType)
    bits = getattr(kind.element_type, "bitwidth", 0)
    if algorithm != "selection" or window is None or lanes == 1 or bits not in (32, 64):
        raise illegal(op, "sample: only where algorithm = selection, in lanes of 32 or 64 bits")
    least = sum(window)
    if not least <= sample <= length:
        raise illegal(op, f"sample = {sample}: from {least} to {length}")


def _verify_algorithm(op: SortOp, algorithm: str, lanes: int) -> None:
    """Raises InputError for an algorithm that does not give what the op wants."""
    *rows, length = shape_of(op.input)
    window = op.window
    fits = TopOfRows.fits(op.input, length, window or (0, length))
    legal = {
        "merge": window is None,
        "rank": window is not None,
        "selection": window is not None,
        "insertion": window is not None and window[0] == 0,
        "rows": fits and 2 <= lanes <= prod(rows),
    }
    if not legal[algorithm]:
        known = ", ".join(name for name, fits in legal.items() if fits)
        raise illegal(op, f"algorithm = {algorithm}, lanes = {lanes}: here it may be {known}")
    element = op.input.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    in_words = algorithm in ("merge", "rank")
    fits = lanes <= length and is_number(element) if in_words else has_vectors(element)
    if lanes.bit_count() != 1 or (lanes > 1 and not fits):
        limit = f"{length} at most" if in_words and is_number(element) else f"1 for {element}"
        raise illegal(op, f"lanes = {lanes}: a power of 2, and {limit}")
