"""Kernels without a packed matrix product: tasks over rows, every stage for each row in turn."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.passes.fusion_cost import body_cost
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.memory import Env, Memory, Sweep
from lamina.passes.scheduling.rows import (
    RowSegment,
    build_sweeps,
    outputs_of,
    plan_scratch,
    vector_place,
    widest_bits,
)
from lamina.passes.scheduling.stages import Stage, collapse_rows
from lamina.passes.scheduling.transpose import transposed_dim

PARALLEL_WORK = 1 << 14
"""Cost units (see `fusion_cost`) below which a fork and join costs more than it saves."""
CHUNK = 8192
"""Elements per task where one long dimension is all there is to divide."""
ENOUGH_TASKS = 64


def schedule_row_kernel(emit: Emitter, stages: list[Stage], memory: Memory, target: Target) -> None:
    """Emit the whole kernel."""
    outputs = outputs_of(stages)
    collapse_rows(stages)
    popped = all(not s.inner for s in stages) and bool(stages[0].rows)
    across = _pop_rows(stages, target) if popped else None
    extents = [stages[0].extents[d] for d in stages[0].rows]
    rows = prod(extents)
    length = prod(stages[0].inner_extents) if popped else 0
    chunks = 1
    if popped and across is None and rows < ENOUGH_TASKS and length > 2 * CHUNK:
        chunks = -(-length // CHUNK)
    sweeps = build_sweeps(stages)

    def task(inner: Emitter, number: Index) -> None:
        plan_scratch(inner, sweeps, memory, outputs)
        bounds = None
        if chunks > 1:
            low = inner.times(inner.remainder(number, chunks), CHUNK)
            bounds = (low, inner.least(inner.plus(low, CHUNK), length))
            number = inner.quotient(number, chunks)
        _row(inner, number, extents, stages, sweeps, memory, target, outputs, bounds)

    if rows * chunks > 1 and work(stages) >= PARALLEL_WORK:
        emit.parallel(rows * chunks, task)
        return

    def serial(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
        task(inner, number)
        return values

    emit.loop(0, rows * chunks, 1, [], serial)


def _row(
    emit: Emitter,
    number: Index,
    extents: list[int],
    stages: list[Stage],
    sweeps: list[Sweep],
    memory: Memory,
    target: Target,
    outputs: set[SSAValue],
    bounds: tuple[Index, Index] | None,
) -> None:
    position = emit.split(number, extents)
    envs: dict[Stage, Env] = {s: dict(zip(s.rows, position, strict=True)) for s in stages}
    RowSegment(sweeps, memory, target, outputs).run(emit, envs, bounds)


def _pop_rows(stages: list[Stage], target: Target) -> int | None:
    """Make the row dimension that vectorizes best the inner dimension of every stage.

    A lone stage that reads along another dimension keeps that one inner too, in front, to be
    transposed in tiles; returns it.
    """
    everything = Sweep(stages, {s: s.rows for s in stages})
    place = vector_place(everything)
    across = None
    if len(stages) == 1:
        lanes = target.lanes(widest_bits(stages))
        across = transposed_dim(stages[0], stages[0].rows, stages[0].rows[place], lanes)
    for stage in stages:
        along = stage.rows[place]
        stage.inner = (along,) if across is None else (across, along)
        stage.rows = tuple(d for d in stage.rows if d not in stage.inner)
    return across


def work(stages: list[Stage]) -> int:
    """Cost units of the kernel: iteration points times what the body costs."""
    return sum(s.points * (1 + body_cost(s.op)) for s in stages)


__all__ = ["PARALLEL_WORK", "schedule_row_kernel", "work"]
