"""Schedule of `loop.scatter`: a copy, then points in order, rows that cannot meet in parallel."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, cf, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from lamina.dialects.loop import ScatterOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.kernel_nests import copied_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.cost.unstructured_cost import LEAST_SCATTER_TASKS, SCATTER_TASKS
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.points import Point, copy_elements, elements, needed_for


def schedule_scatter(
    emit: Emitter, op: ScatterOp, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit the copy and the nest; the target of each point is checked."""
    forks = tasks.parallel
    out = memory.flat[op.outs[0]]
    _copy(emit, op, memory, out)
    if 0 in op.extents:
        return
    extents, domain = op.extents, LiveDomain.of(emit, op, memory)
    dims = range(len(extents))
    leading = _leading(op)
    if prod(extents[:leading]) >= LEAST_SCATTER_TASKS:

        def row(inner: Emitter, number: Index) -> None:
            position = domain.split(inner, number, dims[:leading])
            domain.over_points(
                inner,
                dims[leading:],
                lambda e, at: _point(e, op, memory, out, [*position, *at]),
            )

        emit.tasks(domain.count(emit, dims[:leading]), row, parallel=forks)
        return
    column = max((d for d in op.distinct_dims if domain.is_one(d)), default=None)
    if column is None or not forks or extents[column] < 2 * SCATTER_TASKS:
        domain.over_points(emit, dims, lambda e, at: _point(e, op, memory, out, at))
        return
    width, end = -(-extents[column] // SCATTER_TASKS), domain.end(column)

    def strip(inner: Emitter, number: Index) -> None:
        low = inner.times(number, width)
        cut = {column: (low, inner.least(inner.plus(low, width), end))}
        domain.over_points(inner, dims, lambda e, at: _point(e, op, memory, out, at), cut)

    strips = emit.quotient(emit.plus(end, width - 1), width)
    emit.tasks(strips, strip, parallel=True)


def _copy(emit: Emitter, op: ScatterOp, memory: Memory, out: SSAValue) -> None:
    """The elements of what it scatters into, but those that nothing reads."""
    source, shape, copied = memory.flat[op.into], shape_of(op.into), copied_of(op)
    if copied is None:
        copy_elements(emit, source, out, elements(op.into))
        return
    dims = range(len(shape))
    domain = LiveDomain.within(emit, shape, dims, copied, memory)
    if domain.is_prefix:
        copy_elements(emit, source, out, domain.count(emit, dims))
        return
    offset = Linear.of(dict(enumerate(row_major_strides(shape))))

    def element(inner: Emitter, at: list[Index]) -> None:
        place = inner.value(inner.linear(offset, dict(enumerate(at))))
        inner.run(memref.StoreOp.get(inner.add(memref.LoadOp.get(source, [place])), out, [place]))

    domain.over_points(emit, dims, element)


def _leading(op: ScatterOp) -> int:
    """How many of the first dimensions are distinct."""
    count = 0
    while count in op.distinct_dims:
        count += 1
    return count


def _point(
    emit: Emitter, op: ScatterOp, memory: Memory, out: SSAValue, position: list[Index]
) -> None:
    point = Point(emit, op, memory, position)
    first = needed_for(op, op.places)
    point.run(first)
    at, inside = _address(emit, op, point)
    done = set(first)
    rest = [inner for inner in needed_for(op, [op.yielded[-1]]) if inner not in done]
    target = emit if inside is None else emit.inside(Block())
    point.emit = target
    place = target.value(at)
    old = op.block.args[-1]
    if old.first_use:
        point.bind([old], [target.add(memref.LoadOp.get(out, [place]))])
    point.run(rest)
    target.run(memref.StoreOp.get(point.value(op.yielded[-1]), out, [place]))
    if inside is not None:
        target.run(scf.YieldOp())
        emit.run(scf.IfOp(inside, [], [target.block]))


def _address(emit: Emitter, op: ScatterOp, point: Point) -> tuple[Index, SSAValue | None]:
    """Element offset of the target, and whether it is inside unless that is certain."""
    shape = shape_of(op.into)
    at: Index = 0
    inside: SSAValue | None = None
    for place, extent, stride in zip(op.places, shape, row_major_strides(shape), strict=True):
        known = point.body.indices.get(place)
        if known is not None and known.within(extent):
            at = emit.plus(at, emit.times(known.base, stride))
            continue
        index = point.value(place)
        limit = emit.constant(number_attribute(extent, IndexType()))
        fits = compare(emit, index, limit, "ult")
        message = f"index out of range: must be at least 0 and below {extent}"
        emit.run(cf.AssertOp(fits, message))
        inside = fits if inside is None else emit.add(arith.AndIOp(inside, fits))
        at = emit.plus(at, emit.times(index, stride))
    return at, inside
