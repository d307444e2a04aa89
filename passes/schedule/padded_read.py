"""Reads that give a pad outside the tensor; nothing out there is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import load_op
from lamina.dialects.loop.scalar_ops import binary_op, select_op
from lamina.passes.schedule.body import Lane, broadcast, gather, load
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.stages import Access
from lamina.passes.schedule.strided_access import Elements


@dataclass(frozen=True)
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
        inside = _inside(emit, read, env, None, 1, None)
        safe = emit.add(select_op(inside, emit.value(where.at), emit.value(0)))
        value = emit.add(load_op(where.memory, [safe]))
        pad = emit.constant(access.pad)
        return Lane(emit.add(select_op(inside, value, pad)), True)
    inside = replace(where, mask=_inside(emit, read, env, dim, where.lanes, where.mask))
    passing = emit.splat(access.pad, where.lanes)
    if where.stride == 0:  # scratch that holds one position of the dimension, tested all the same
        nowhere = emit.splat(number_attribute(0, IndexType()), where.lanes)
        return Lane(gather(emit, inside, nowhere, passing), False)
    return load(emit, inside, passing)


def _inside(
    emit: Emitter,
    read: PaddedAccess,
    env: Env,
    dim: int | None,
    lanes: int,
    mask: SSAValue | None,
) -> SSAValue:
    """Whether every index of a padded read that may be outside is inside, per lane of `dim`."""
    inside = mask
    lanes = 1 if dim is None else lanes
    for axis in read.access.tested:
        if axis in read.inside:
            continue
        form, end = read.access.axes[axis], read.edges[axis]
        position = broadcast(emit, emit.value(emit.linear(form, env)), lanes)
        scale = 0 if dim is None else form.coefficient(dim)
        if scale:
            steps = emit.lane_numbers(lanes, scale=scale)
            position = emit.add(binary_op(arith.AddiOp, position, steps))
        if isinstance(end, int):
            limit = emit.splat(number_attribute(end, IndexType()), lanes)
        else:
            limit = broadcast(emit, end, lanes)
        # Unsigned comparison refuses negative indices too.
        fits = compare(emit, position, limit, "ult")
        inside = fits if inside is None else emit.add(binary_op(arith.AndIOp, inside, fits))
    return inside if inside is not None else emit.splat(number_attribute(1, i1), lanes)
