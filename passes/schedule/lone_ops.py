"""Kernels that are one op which is no nest of independent points: scatter, scan, segments, sort."""

from __future__ import annotations

from math import log2, prod

from xdsl.ir import Operation

from lamina.codegen.target import Target
from lamina.dialects.loop import ScanOp, ScatterOp, SegmentReduceOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.passes.cost.fusion_cost import op_cost
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.scan import schedule_scan
from lamina.passes.schedule.scatter import schedule_scatter
from lamina.passes.schedule.segment_reduce import schedule_segments
from lamina.passes.schedule.sort import schedule_sort

PARALLEL_WORK = 1 << 15
"""Cost units below which one thread does it all."""


def lone_work(op: Operation) -> int:
    """Cost units of one op; 0 for all others."""
    if isinstance(op, OrderedNest):
        return op.points * (4 + sum(op_cost(o) for o in op.block.ops))
    if isinstance(op, SortOp):
        *rows, length = shape_of(op.input)
        sorted_ones = length if op.window is None else op.window[1]
        sorting = sorted_ones * 8 * int(log2(max(1, sorted_ones)))
        return prod(rows) * (4 * length + sorting)
    return 0


def schedule_lone_op(
    emit: Emitter, op: ScatterOp | ScanOp | SegmentReduceOp | SortOp, memory: Memory, target: Target
) -> None:
    """Emit the loops of one op on memrefs."""
    forks = memory.forks and lone_work(op) >= PARALLEL_WORK
    match op:
        case ScatterOp():
            schedule_scatter(emit, op, memory, forks)
        case ScanOp():
            schedule_scan(emit, op, memory, forks)
        case SegmentReduceOp():
            schedule_segments(emit, op, memory, forks, target)
        case SortOp():
            schedule_sort(emit, op, memory, forks, target)
