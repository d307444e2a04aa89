"""Schedule of `loop.sort`: rows in parallel, each sorted by merging.

Of many short rows, each lane of a vector puts one in order (`top_of_rows`). Where only some
elements of a longer row, or of few rows, are asked for, the row is not sorted: of short ones, ranks
are counted; the first few are kept while the row is read (`top`); others are found by their digits
(`selection`).
"""

from __future__ import annotations

from math import prod

from lamina.codegen.target import Target
from lamina.dialects.loop import SortOp
from lamina.dialects.loop.access import shape_of
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.merge_sort import emit_merge_sort
from lamina.passes.schedule.pairs import Keys, Pairs
from lamina.passes.schedule.points import in_tasks
from lamina.passes.schedule.ranks import emit_by_rank
from lamina.passes.schedule.selection import emit_selection
from lamina.passes.schedule.top import emit_top, is_few
from lamina.passes.schedule.top_of_rows import TopOfRows

RANKED = 32
"""Elements of a row whose ranks are counted faster than others are sorted out."""


def schedule_sort(emit: Emitter, op: SortOp, memory: Memory, forks: bool, target: Target) -> None:
    """Emit a task for each row."""
    *rows, length = shape_of(op.input)
    if length == 0 or 0 in rows:
        return
    window, down = op.window, op.descending is not None
    kept, worked = (length, length) if window is None else (window[1], length + window[1])

    count = prod(rows)
    top = TopOfRows.of(memory.flat[op.input], count, length, window or (0, length), target)
    if top is not None:
        lanes = top.lanes

        def rows_of_lanes(inner: Emitter, number: Index) -> None:
            # The last ones may be those of the task before too, which finds the same.
            first = inner.least(inner.times(number, lanes), count - lanes)
            flat = [memory.flat[out] for out in op.outs]
            keys = Keys(memory.flat[op.input], inner.times(first, length), down)
            top.emit(inner, keys, Pairs(flat[0], flat[1], inner.times(first, kept)))

        in_tasks(emit, -(-count // lanes), forks, rows_of_lanes)
        return

    def row(inner: Emitter, number: Index) -> None:
        keys = Keys(memory.flat[op.input], inner.times(number, length), down)
        flat = [memory.flat[out] for out in op.outs]
        results = Pairs(flat[0], flat[1], inner.times(number, kept))
        work = Pairs(flat[2], flat[3], inner.times(number, worked))
        if window is None:
            emit_merge_sort(inner, keys.load, results, work, length, most=length, down=down)
        elif length <= RANKED:
            emit_by_rank(inner, keys, results, length, window)
        elif window[0] == 0 and is_few(window[1], length):
            emit_top(inner, keys, results, length, window[1], target)
        else:
            emit_selection(inner, keys, results, work, length, window, target)

    in_tasks(emit, count, forks, row)
