"""Reads that give a pad outside the tensor; nothing out there is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import load_op
from lamina.dialects.loop.scalar_ops import binary_op, select_op
from lamina.dialects.records import record
from lamina.passes.schedule.body import Lane, broadcast, gather, load
from lamina.passes.schedule.compare import also, compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.stages import Access
from lamina.passes.schedule.strided_access import Elements


@record
class PaddedAccess:
    """A padded read, and where each axis of what it reads ends."""

    access: Access
    edges: Sequence[Index]
    inside: frozenset[int] = frozenset()
    """Axes along which it is known to be inside."""


def padded_read(
    emit: Emitter, read: PaddedAccess, env: Env, dim: int | None, where: Elements
) -> Lane:
    """The elements of an access, or its pad, lane by lane.

    `dim` is the vector dimension, at its position in `env`.
    """
    access = read.access
    assert access.pad is not None
    moves = dim is not None and any(form.coefficient(dim) for form in access.axes)
    if not moves or where.lanes == 1:
        inside = _inside(emit, read, env, None)
        safe = emit.add(select_op(inside, emit.value(where.at), emit.value(0)))
        value = emit.add(load_op(where.memory, [safe]))
        pad = emit.constant(access.pad)
        return Lane(emit.add(select_op(inside, value, pad)), True)
    inside = _masked(emit, read, env, dim, where)
    passing = emit.splat(access.pad, where.lanes)
    if where.stride == 0:  # scratch that holds one position of the dimension, tested all the same
        nowhere = emit.splat(number_attribute(0, IndexType()), where.lanes)
        return Lane(gather(emit, inside, nowhere, passing), False)
    return load(emit, inside, passing)


def _masked(
    emit: Emitter, read: PaddedAccess, env: Env, dim: int | None, where: Elements
) -> Elements:
    """The elements of an access whose lanes outside are masked off.

    Where all are outside, the first element of memory is named instead: a load without lanes reads
    nothing, but takes as long as a fault where there is no page.
    """
    alike = [axis for axis in _tested(read) if dim is None or not _moves(read, axis, dim)]
    mask = where.mask
    if alike:
        inside = _inside(emit, read, env, None, alike)
        where = replace(where, at=emit.add(select_op(inside, emit.value(where.at), emit.value(0))))
        mask = also(emit, mask, broadcast(emit, inside, where.lanes))
    if apart := [axis for axis in _tested(read) if axis not in alike]:
        mask = also(emit, mask, _inside(emit, read, env, dim, apart, where.lanes))
    return replace(where, mask=mask or emit.splat(number_attribute(1, i1), where.lanes))


def _tested(read: PaddedAccess) -> list[int]:
    return [axis for axis in read.access.tested if axis not in read.inside]


def _moves(read: PaddedAccess, axis: int, dim: int) -> bool:
    return read.access.axes[axis].coefficient(dim) != 0


def _inside(
    emit: Emitter,
    read: PaddedAccess,
    env: Env,
    dim: int | None,
    axes: Sequence[int] | None = None,
    lanes: int = 1,
) -> SSAValue:
    """Whether indices of a padded read are inside, per lane of `dim`: those along `axes`, or all
    that may be outside."""
    inside: SSAValue | None = None
    for axis in _tested(read) if axes is None else axes:
        form, end = read.access.axes[axis], read.edges[axis]
        position = broadcast(emit, emit.value(emit.linear(form, env)), lanes)
        if dim is not None and (scale := form.coefficient(dim)):
            steps = emit.lane_numbers(lanes, scale=scale)
            position = emit.add(binary_op(arith.AddiOp, position, steps))
        if isinstance(end, int):
            limit = emit.splat(number_attribute(end, IndexType()), lanes)
        else:
            limit = broadcast(emit, end, lanes)
        # Unsigned comparison refuses negative indices too.
        fits = compare(emit, position, limit, "ult")
        inside = also(emit, inside, fits)
    return inside if inside is not None else emit.splat(number_attribute(1, i1), lanes)
