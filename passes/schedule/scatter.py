"""Schedule of `loop.scatter`: a copy, then points in order, rows that cannot meet in parallel."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop import ScatterOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.kernel_nests import copied_of
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.cost.unstructured_cost import LEAST_SCATTER_TASKS, SCATTER_TASKS
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.points import copy_elements, elements
from lamina.passes.schedule.scatter_rows import ScatterRows


def schedule_scatter(
    emit: Emitter, op: ScatterOp, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit the copy and the nest; the target of each point is checked."""
    forks = tasks.parallel
    out = memory.flat[op.outs[0]]
    _copy(emit, op, memory, out)
    if 0 in op.extents:
        return
    # No update counts where a number is 0: nothing has to have made the place of a first one.
    extents, domain = op.extents, LiveDomain.of(emit, op, memory, least=0)
    rows = ScatterRows.of(emit, op, memory, domain, tasks)
    dims = range(len(extents))
    leading = min(_leading(op), len(extents) - 1) if rows.lanes > 1 else _leading(op)
    if prod(extents[:leading]) >= LEAST_SCATTER_TASKS:

        def row(inner: Emitter, number: Index) -> None:
            position = domain.split(inner, number, dims[:leading])
            rows.over(inner, position)

        emit.tasks(domain.count(emit, dims[:leading]), row, parallel=forks)
        return
    column = max((d for d in op.distinct_dims if domain.is_one(d)), default=None)
    if column is None or not forks or extents[column] < 2 * SCATTER_TASKS:
        rows.over(emit, [])
        return
    width, end = -(-extents[column] // SCATTER_TASKS), domain.end(column)
    if column == len(extents) - 1:
        width = -(-width // rows.lanes) * rows.lanes

    def strip(inner: Emitter, number: Index) -> None:
        low = inner.times(number, width)
        rows.over(inner, [], {column: (low, inner.least(inner.plus(low, width), end))})

    strips = emit.quotient(emit.plus(end, width - 1), width)
    emit.tasks(strips, strip, parallel=True)


def _copy(emit: Emitter, op: ScatterOp, memory: Memory, out: SSAValue) -> None:
    """The elements of what it scatters into, but those that nothing reads, or that are there."""
    if op.into is op.outs[0]:
        return
    source, shape, copied = memory.flat[op.into], shape_of(op.into), copied_of(op)
    if copied is None:
        copy_elements(emit, source, out, elements(op.into))
        return
    dims = range(len(shape))
    domain = LiveDomain.within(emit, shape, dims, copied, memory)
    both = [memory.strides.get(value) for value in (op.into, op.outs[0])]
    if domain.is_prefix or None not in both:  # what counts lies together then
        copy_elements(emit, source, out, domain.count(emit, dims))
        return
    steps = [row_major_strides(shape) if own is None else own for own in both]
    *outer, last = dims
    in_rows = domain.is_one(last)

    def row(inner: Emitter, at: list[Index]) -> None:
        begin: list[Index] = []
        for own in steps:
            place: Index = 0
            for position, step in zip(at, own, strict=False):
                place = inner.plus(place, inner.times(position, step))
            begin.append(place)
        copy_elements(inner, source, out, domain.end(last) if in_rows else 1, (begin[0], begin[1]))

    domain.over_points(emit, outer if in_rows else dims, row)


def _leading(op: ScatterOp) -> int:
    """How many of the first dimensions are distinct."""
    count = 0
    while count in op.distinct_dims:
        count += 1
    return count
