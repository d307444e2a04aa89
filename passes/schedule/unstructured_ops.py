"""Kernels that are one op which is no nest of independent points, as a scatter or sort.

Few programs have any: the modules that schedule them are imported for the first that does.
"""

from __future__ import annotations

from lamina.dialects.loop import FourierOp, ScanOp, ScatterOp, SegmentReduceOp, SortOp
from lamina.dialects.loop.kernel_nests import live_rows_of
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Memory

Unstructured = ScatterOp | ScanOp | SegmentReduceOp | SortOp | FourierOp

CLAUSES: dict[type[Unstructured], tuple[str, ...]] = {
    ScatterOp: ("lanes", "unroll"),
    ScanOp: ("jam",),
    SegmentReduceOp: ("lanes", "unroll", "prefetch"),
    SortOp: ("algorithm", "lanes", "unroll", "sample", "few", "left_out"),
    FourierOp: ("lanes", "factors"),
}
"""Clauses that an op may have beside `parallel`."""


def runs_live_rows_only(op: Unstructured) -> bool:
    """Whether the loops of an op touch nothing behind the rows that count, in what it reads and
    writes row by row, where these are one at least: so it is with all schedules of all of them.

    What a scatter goes into is copied whole unless `copied` says otherwise, and bounds of segments
    are read one further. Tables that a body indexes itself are no rows.
    """
    return live_rows_of(op) is not None


def schedule_unstructured(
    emit: Emitter, op: Unstructured, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit the loops of one op on memrefs as its schedule says.

    Raises InputError for clauses that the op, or its algorithm, does not have.
    """
    legal = ("parallel", *CLAUSES[type(op)])
    if isinstance(op, SegmentReduceOp) and len(op.extents) == 2:
        legal = legal[:1]  # no columns, of which vectors or lines would be
    if others := [name for name in tasks.texts() if name not in legal]:
        raise illegal(op, f"{', '.join(others)}: {op.name} here may have {', '.join(legal)}")
    match op:
        case ScatterOp():
            from lamina.passes.schedule.scatter import schedule_scatter

            schedule_scatter(emit, op, memory, tasks)
        case ScanOp():
            from lamina.passes.schedule.scan import schedule_scan

            schedule_scan(emit, op, memory, tasks)
        case SegmentReduceOp():
            from lamina.passes.schedule.segment_reduce import schedule_segments

            schedule_segments(emit, op, memory, tasks)
        case SortOp():
            from lamina.passes.schedule.sort import schedule_sort

            schedule_sort(emit, op, memory, tasks)
        case FourierOp():
            from lamina.passes.schedule.fourier import schedule_fourier

            schedule_fourier(emit, op, memory, tasks)
