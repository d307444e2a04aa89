"""Vectors that stand inside the edges of all that they read: those between need not ask.

Where reads give a pad from a number of the call on, each vector would compare its positions with
that. Of long rows the few vectors at the edges do so, and those in the middle do not.
"""

from __future__ import annotations

from collections.abc import Iterator

from lamina.passes.cost.sweep_limits import LEAST_INNER
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.peel import whole_steps
from lamina.passes.schedule.stages import Access, Stage


def inner_range(
    emit: Emitter, memory: Memory, sweep: Sweep, envs: Envs, bounds: tuple[Index, Index]
) -> tuple[Index, Index] | None:
    """Where whole vectors, counted from the beginning of `bounds`, read nothing that is outside;
    None where that is not worth asking for."""
    if sweep.extents[sweep.place] < LEAST_INNER * sweep.lanes:
        return None
    (low, high), (first, last), found = bounds, bounds, False
    for stage, access, axis in _edged(sweep, memory):
        dim = sweep.order[stage][sweep.place]
        begins, ends = _inside(emit, access, axis, memory, {**envs[stage], dim: 0})
        first, last, found = emit.most(first, begins), emit.least(last, ends), True
    if not found:
        return None
    ahead = emit.plus(emit.minus(first, low), sweep.lanes - 1)
    first = emit.plus(low, emit.times(emit.quotient(ahead, sweep.lanes), sweep.lanes))
    first = emit.least(first, high)
    return first, whole_steps(emit, first, emit.most(last, first), sweep.lanes)


def along(access: Access, dim: int | None) -> frozenset[int]:
    """The axes of an access along which a dimension moves."""
    if dim is None:
        return frozenset()
    return frozenset(n for n, form in enumerate(access.axes) if form.coefficient(dim))


def _edged(sweep: Sweep, memory: Memory) -> Iterator[tuple[Stage, Access, int]]:
    """The axes of padded reads that end at numbers of the call and that vectors walk; all or none
    are walked one by one."""
    found: list[tuple[Stage, Access, int]] = []
    for stage in sweep.stages:
        dim = sweep.order[stage][sweep.place]
        for read in stage.reads:
            if read.pad is None or read.memory not in memory.edges:
                continue
            for axis in along(read, dim) & set(read.tested):
                if read.axes[axis].coefficient(dim) != 1:
                    return
                found.append((stage, read, axis))
    yield from found


def _inside(
    emit: Emitter, access: Access, axis: int, memory: Memory, env: Env
) -> tuple[Index, Index]:
    """The positions at which an index is not below 0, and below the edge; at `env` vectors begin at
    0."""
    form = access.axes[axis]
    start = emit.linear(form, env)
    edge = memory.edges[access.memory][axis]
    return emit.minus(0, start), emit.minus(edge, start)
