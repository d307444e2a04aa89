"""Kernels that are one op which is no nest of independent points: scatter, scan, segments, sort."""

from __future__ import annotations

from lamina.dialects.loop import ScanOp, ScatterOp, SegmentReduceOp, SortOp
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.scan import schedule_scan
from lamina.passes.schedule.scatter import schedule_scatter
from lamina.passes.schedule.segment_reduce import schedule_segments
from lamina.passes.schedule.sort import schedule_sort

Unstructured = ScatterOp | ScanOp | SegmentReduceOp | SortOp


def schedule_unstructured(
    emit: Emitter, op: Unstructured, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit the loops of one op on memrefs as its schedule says."""
    match op:
        case ScatterOp():
            schedule_scatter(emit, op, memory, tasks)
        case ScanOp():
            schedule_scan(emit, op, memory, tasks)
        case SegmentReduceOp():
            schedule_segments(emit, op, memory, tasks)
        case SortOp():
            schedule_sort(emit, op, memory, tasks)
