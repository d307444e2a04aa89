"""Kernels without a packed matrix product: tasks over rows, every stage for each row in turn."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.fusion.fusion_rules import pure_dim
from lamina.passes.schedule.column import COLUMN_UNROLL
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory, Sweep
from lamina.passes.schedule.row_streams import row_streams
from lamina.passes.schedule.row_sums import schedule_row_sums
from lamina.passes.schedule.rows import (
    COLUMN_START,
    RowSegment,
    build_sweeps,
    outputs_of,
    plan_scratch,
    widest_bits,
)
from lamina.passes.schedule.stages import Stage, collapse_rows
from lamina.passes.schedule.transpose import BLOCK_TILES, transposed_dim
from lamina.passes.schedule.vector_place import vector_place

PARALLEL_WORK = 1 << 14
"""Cost units (see `fusion_cost`) below which a fork and join costs more than it saves."""
CHUNK_WORK = 1 << 14
"""Cost units per task, at least, where one long dimension is all there is to divide."""
LEAST_CHUNK, MOST_CHUNK = 1024, 8192
"""Elements per task, whatever they cost: long runs of memory, and tasks for everybody."""
WHOLE_LINES = 64
"""Elements that tasks are a multiple of: whole cache lines of any type."""
ENOUGH_TASKS = 64
"""Tasks that any usual number of threads shares evenly: a dimension is cut into no more."""
COLUMN_TASKS = 16
"""Tasks to aim for where neighbouring columns are reduced together."""
COLUMN_SCRATCH_BYTES = 1 << 18
"""What a task may keep for its columns between nests: a quarter of the usual second-level cache."""


def schedule_row_kernel(emit: Emitter, stages: list[Stage], memory: Memory, target: Target) -> None:
    """Emit the whole kernel."""
    outputs = outputs_of(stages)
    forks = memory.forks and work(stages) >= PARALLEL_WORK
    collapse_rows(stages)
    if any(s.totals for s in stages):
        schedule_row_sums(emit, stages, memory, target, forks=forks)
        return
    popped = all(not s.inner for s in stages) and bool(stages[0].rows)
    across = _pop_rows(stages, target) if popped else None
    extents = [stages[0].extents[d] for d in stages[0].rows]
    rows = prod(extents)
    length = prod(stages[0].inner_extents) if popped else 0
    chunks, width = 1, length
    in_chunks = popped and across is None and (forks or len(stages) > 1)
    if in_chunks and rows < ENOUGH_TASKS and length > LEAST_CHUNK:
        width = _chunk_width(length, sum(1 + body_cost(s.op) for s in stages))
        chunks = -(-length // width)
    elif across is not None and rows < ENOUGH_TASKS:
        length = stages[0].extents[across]
        width = _tiles_width(length, target.lanes(widest_bits(stages)), -(-ENOUGH_TASKS // rows))
        chunks = -(-length // width)
    elif not popped and (most := _take_columns_in(stages, target, outputs)):
        length = stages[0].inner_extents[0]
        *extents, _ = extents
        rows = prod(extents)
        wanted = COLUMN_TASKS // rows if forks else 1
        width = _column_width(length, target.lanes(widest_bits(stages)), wanted)
        width = min(width, most)
        chunks = -(-length // width)
    sweeps = build_sweeps(stages)
    columns = chunks > 1 and not popped
    together = 1 if popped or columns else row_streams(sweeps, rows, target, outputs)
    tasks = rows * chunks // together

    def task(inner: Emitter, number: Index) -> None:
        plan_scratch(inner, sweeps, memory, outputs, width if columns else None)
        bounds = None
        if together > 1:
            numbers = [inner.plus(number, k * tasks) for k in range(together)]
            positions = [_row_positions(inner, n, extents, stages) for n in numbers]
            RowSegment(sweeps, memory, target, outputs).run_together(inner, positions)
            return
        if chunks > 1:
            low = inner.times(inner.remainder(number, chunks), width)
            high = inner.plus(low, width)
            bounds = (low, high if length % width == 0 else inner.least(high, length))
            number = inner.quotient(number, chunks)
        _row(inner, number, extents, stages, sweeps, memory, target, outputs, bounds)

    if forks and tasks > 1:
        emit.parallel(tasks, task)
        return

    def serial(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
        task(inner, number)
        return values

    emit.loop(0, tasks, 1, [], serial)


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
    envs = _row_positions(emit, number, extents, stages)
    segment = RowSegment(sweeps, memory, target, outputs)
    later: dict[Stage, Env] | None = None
    if bounds is not None:
        for env in envs.values():
            env[COLUMN_START] = bounds[0]
    elif (fetch := segment.prefetch()) is not None and fetch.rows < prod(extents):
        last = emit.least(emit.plus(number, fetch.rows), prod(extents) - 1)
        later = _row_positions(emit, last, extents, stages)
    segment.run(emit, envs, bounds, later)


def _row_positions(
    emit: Emitter, number: Index, extents: list[int], stages: list[Stage]
) -> dict[Stage, Env]:
    position = emit.split(number, extents)
    return {s: dict(zip(s.rows, position, strict=True)) for s in stages}


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


def _take_columns_in(stages: list[Stage], target: Target, outputs: set[SSAValue]) -> int:
    """Make the last row dimension the first inner one (in place) if reductions run across it.

    A reduction whose operand is contiguous along a row dimension would gather one column at a
    time; neighbouring columns in the lanes of vectors read whole cache lines. Returns how many
    columns a task may take, for its scratch to stay within limits; 0 leaves all as it is.
    """
    if not stages[0].rows:
        return 0
    extent = stages[0].extents[stages[0].rows[-1]]
    lanes = target.lanes(widest_bits(stages))
    if 2 * extent < lanes:
        return 0
    for stage in stages:
        order = (stage.rows[-1], *stage.inner)
        if stage.inner and vector_place(Sweep([stage], {stage: order})) != 0:
            return 0
    kept = sum(_kept_bytes(s, outputs) for s in stages)
    most = extent
    if kept > COLUMN_SCRATCH_BYTES:
        most = COLUMN_SCRATCH_BYTES * extent // kept // lanes * lanes
        if most == 0 or not all(_keeps_columns_apart(s, outputs) for s in stages):
            return 0
    for stage in stages:
        stage.inner = (stage.rows[-1], *stage.inner)
        stage.rows = stage.rows[:-1]
    return most


def _kept_bytes(stage: Stage, outputs: set[SSAValue]) -> int:
    """Scratch for what a stage hands on, once its last row dimension is an inner one."""
    total = 0
    for write in stage.writes:
        if write.memory not in outputs:
            dims = {d for form in write.axes for d, _ in form.terms} - set(stage.rows[:-1])
            bits = getattr(write.element, "bitwidth", 64)
            total += prod(stage.extents[d] for d in dims) * max(1, bits // 8)
    return total


def _keeps_columns_apart(stage: Stage, outputs: set[SSAValue]) -> bool:
    """Whether all that a stage hands on has an axis for the last row dimension alone."""
    column = stage.rows[-1]
    kept = [w for w in stage.writes if w.memory not in outputs]
    return all(any(pure_dim(form) == column for form in w.axes) for w in kept)


def _column_width(columns: int, lanes: int, tasks: int) -> int:
    """Columns per task: whole blocks of the vectors that are reduced together."""
    block = lanes * COLUMN_UNROLL
    return -(-columns // max(1, tasks) // block) * block if columns > block else columns


def _chunk_width(length: int, cost: int) -> int:
    """Elements per task of a row whose elements cost so many units each.

    Few tasks are a power of two of equal ones: two, four or eight threads share them evenly.
    """
    least = max(LEAST_CHUNK, min(MOST_CHUNK, CHUNK_WORK // cost))
    chunks = length // least
    if chunks < 2:
        return length
    if chunks < ENOUGH_TASKS:
        chunks = 1 << chunks.bit_length() - 1
    else:
        chunks = max(ENOUGH_TASKS, length // MOST_CHUNK)
    return -(-length // chunks // WHOLE_LINES) * WHOLE_LINES


def _tiles_width(length: int, lanes: int, tasks: int) -> int:
    """Rows of tiles per task, in whole blocks of tiles."""
    block = lanes * BLOCK_TILES
    return -(-length // (tasks * block)) * block


def work(stages: list[Stage]) -> int:
    """Cost units of the kernel: iteration points times what the body costs."""
    return sum(s.points * (1 + body_cost(s.op)) for s in stages)


__all__ = ["PARALLEL_WORK", "schedule_row_kernel", "work"]
