"""Kernels without a packed matrix product: tasks over rows, every stage for each row in turn."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop.schedules import RowTasks
from lamina.passes.fusion.fusion_rules import pure_dim
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Memory, Sweep
from lamina.passes.schedule.row_jam import only_reduces
from lamina.passes.schedule.row_sums import schedule_row_sums
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Stage, collapse_rows
from lamina.passes.schedule.sweeps import (
    COLUMN_START,
    allocate_scratch,
    outputs_of,
    scheduled_sweeps,
)


def schedule_row_kernel(
    emit: Emitter, stages: list[Stage], memory: Memory, tasks: RowTasks
) -> None:
    """Emit the whole part as its schedule says."""
    outputs = outputs_of(stages)
    collapse_rows(stages)
    parallel = bool(tasks.parallel)
    if any(s.totals for s in stages):
        if tasks.inner or tasks.tile or (tasks.jam or 1) > 1:
            raise illegal(stages[0].op, "inner, tile, jam: the kernel sums over its rows")
        schedule_row_sums(emit, stages, memory, parallel=parallel)
        return
    is_popped = all(not s.inner for s in stages)
    take_inner(stages, tasks.inner or ())
    sweeps = scheduled_sweeps(stages)
    extents = [stages[0].extents[d] for d in stages[0].rows]
    rows = prod(extents)
    chunks, width, length = _chunks(stages, tasks)
    columns = width if chunks > 1 and not is_popped else None
    together = tasks.jam or 1
    verify_tasks(stages, sweeps, tasks, outputs, columns, rows)
    count = rows * chunks // together

    def task(inner: Emitter, number: Index) -> None:
        allocate_scratch(inner, sweeps, memory, outputs, columns)
        bounds = None
        if together > 1:
            numbers = [inner.plus(number, k * count) for k in range(together)]
            positions = [_row_positions(inner, n, extents, stages) for n in numbers]
            RowSegment(sweeps, memory, outputs).run_together(inner, positions)
            return
        if chunks > 1:
            low = inner.times(inner.remainder(number, chunks), width)
            high = inner.plus(low, width)
            bounds = (low, high if length % width == 0 else inner.least(high, length))
            number = inner.quotient(number, chunks)
        _row(inner, number, extents, stages, sweeps, memory, outputs, bounds)

    if parallel and count > 1:
        emit.parallel(count, task)
        return

    def serial(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
        task(inner, number)
        return values

    emit.loop(0, count, 1, [], serial)


def take_inner(stages: list[Stage], places: tuple[int, ...]) -> None:
    """Make rows of every stage loops of the task, in front of its own (in place)."""
    count = len(stages[0].rows)
    if any(not 0 <= place < count for place in places):
        raise illegal(stages[0].op, f"inner = {list(places)}: its kernel has {count} rows")
    for stage in stages:
        taken = tuple(stage.rows[place] for place in places)
        stage.inner = taken + stage.inner
        stage.rows = tuple(d for d in stage.rows if d not in taken)


def _chunks(stages: list[Stage], tasks: RowTasks) -> tuple[int, int, int]:
    """Into how many tasks a row is divided, and the positions of each and of all."""
    if tasks.tile is None:
        return 1, 0, 0
    if not stages[0].inner or len({s.inner_extents[:1] for s in stages}) > 1:
        raise illegal(stages[0].op, "tile: the nests of the kernel have no loop in common")
    length = stages[0].inner_extents[0]
    return max(1, -(-length // tasks.tile)), tasks.tile, length


def verify_tasks(
    stages: list[Stage],
    sweeps: list[Sweep],
    tasks: RowTasks,
    outputs: set[SSAValue],
    columns: int | None,
    rows: int,
) -> None:
    """Raises InputError for a tile or a jam that the sweeps of a row cannot have."""
    first, together = sweeps[0], tasks.jam or 1
    if tasks.tile is not None:
        for sweep in sweeps:
            stage = sweep.stages[0]
            if stage.inner and sweep.order[stage][0] != stage.inner[0]:
                raise illegal(stage.op, "order: the loop that tasks divide is the outermost")
            if any(s.inner[0] in s.reduced for s in sweep.stages if s.inner):
                raise illegal(stage.op, "tile: tasks would divide a reduced dimension")
            if sweep.schedule.transpose is not None and tasks.tile % sweep.lanes:
                raise illegal(stage.op, f"tile = {tasks.tile}: not in tiles of {sweep.lanes}")
            if sweep.schedule.jam is not None or sweep.schedule.online:
                raise illegal(stage.op, "jam, online: tasks divide the row")
    if columns is not None and not all(keeps_columns_apart(s, s.inner[0], outputs) for s in stages):
        raise illegal(stages[0].op, "tile: what a row hands on is not divided as the tasks are")
    if together > 1 and not (
        tasks.tile is None
        and rows % together == 0
        and not any(sweep.extents for sweep in sweeps[1:])
        and only_reduces(first, sweeps[1:], outputs)
    ):
        raise illegal(
            stages[0].op,
            f"jam = {together}: it divides the rows ({rows}) of a kernel that only reduces them",
        )


def keeps_columns_apart(stage: Stage, column: int, outputs: set[SSAValue]) -> bool:
    """Whether all that a stage hands on has an axis for the dimension `column` alone."""
    kept = [w for w in stage.writes if w.memory not in outputs]
    return all(any(pure_dim(form) == column for form in w.axes) for w in kept)


def _row(
    emit: Emitter,
    number: Index,
    extents: list[int],
    stages: list[Stage],
    sweeps: list[Sweep],
    memory: Memory,
    outputs: set[SSAValue],
    bounds: tuple[Index, Index] | None,
) -> None:
    envs = _row_positions(emit, number, extents, stages)
    segment = RowSegment(sweeps, memory, outputs)
    later: dict[Stage, Env] | None = None
    if bounds is not None:
        for env in envs.values():
            env[COLUMN_START] = bounds[0]
    elif (fetch := segment.prefetch()) is not None:
        last = emit.least(emit.plus(number, fetch.rows), prod(extents) - 1)
        later = _row_positions(emit, last, extents, stages)
    segment.run(emit, envs, bounds, later)


def _row_positions(
    emit: Emitter, number: Index, extents: list[int], stages: list[Stage]
) -> dict[Stage, Env]:
    position = emit.split(number, extents)
    return {s: dict(zip(s.rows, position, strict=True)) for s in stages}
