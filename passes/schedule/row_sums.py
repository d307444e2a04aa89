"""Kernels that sum over their rows: a task walks its rows in turn, and adds each row to its totals.

The totals stay in memory, in the nearest cache that holds them, and are cleared at the start of the
task. Everything else of a row is scheduled as in any kernel of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Region, SSAValue

from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.schedules import NestSchedule, RowTasks
from lamina.passes.schedule.body import Body, Lane, load
from lamina.passes.schedule.combine import combine, identity_value, store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Memory, Sweep
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Access, Stage, collapse_rows
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.sweeps import allocate_scratch, outputs_of, scheduled_sweeps

CLEARING_UNROLL = 2
"""Vectors of totals that are cleared in a step."""


def schedule_row_sums(
    emit: Emitter, stages: list[Stage], memory: Memory, clauses: RowTasks
) -> None:
    """Emit the kernel; rows in front of those that some stage sums over are tasks.

    Raises InputError for clauses that such kernels do not have.
    """
    outputs = outputs_of(stages)
    collapse_rows(stages)
    if clauses.inner or clauses.tile or (clauses.jam or 1) > 1:
        raise illegal(stages[0].op, "inner, tile, jam: the kernel sums over its rows")
    tasks = _task_rows(stages)
    sweeps = scheduled_sweeps(stages)
    first = [stages[0].extents[d] for d in stages[0].rows[:tasks]]
    turns = turn_rows(stages)
    segment = RowSumsSegment(sweeps, memory, outputs)

    def task(inner: Emitter, number: Index) -> None:
        allocate_scratch(inner, sweeps, memory, outputs)
        position = inner.split(number, first)
        _clear(inner, sweeps, [*position, *[0] * len(turns)], memory)

        def row(deeper: Emitter, turn: Index, values: list[SSAValue]) -> list[SSAValue]:
            later = None
            if (fetch := segment.prefetch()) is not None:
                last = deeper.least(deeper.plus(turn, fetch.rows), prod(turns) - 1)
                later = _envs(stages, [*position, *deeper.split(last, turns)])
            at = _envs(stages, [*position, *deeper.split(turn, turns)])
            segment.run(deeper, at, None, later)
            return values

        inner.loop(0, prod(turns), 1, [], row)

    emit.tasks(prod(first), task, parallel=clauses.parallel)


def _task_rows(stages: Sequence[Stage]) -> int:
    """How many rows stand in front of the first that is summed over."""
    return min(
        place
        for stage in stages
        if stage.totals
        for place, dim in enumerate(stage.rows)
        if stage.extents[dim] > 1 and all(w.stride(dim) == 0 for w in stage.writes)
    )


def turn_rows(stages: Sequence[Stage]) -> list[int]:
    """Extents of the rows that a task takes in turn: from the first one that is summed over on."""
    return [stages[0].extents[d] for d in stages[0].rows[_task_rows(stages) :]]


def _envs(stages: Sequence[Stage], position: Sequence[Index]) -> dict[Stage, Env]:
    return {s: dict(zip(s.rows, position, strict=True)) for s in stages}


def _clear(
    emit: Emitter, sweeps: Sequence[Sweep], position: Sequence[Index], memory: Memory
) -> None:
    """Set the totals of a task to what leaves everything else as it is."""
    for sweep in sweeps:
        for stage in sweep.stages:
            if stage.totals:
                cleared = _clearing(stage, sweep)
                alone = Sweep([cleared], {cleared: sweep.order[stage]})
                outputs = {w.memory for w in stage.writes}
                RowSegment([alone], memory, outputs).run(emit, _envs([cleared], position))


def _clearing(stage: Stage, sweep: Sweep) -> Stage:
    """A stage that stores the identities of the totals where `stage` adds to them.

    It walks them as the sweep does.
    """
    vectors = By(sweep.order[stage][sweep.place], sweep.lanes) if sweep.extents else None
    unroll = CLEARING_UNROLL if sweep.extents else None
    schedule = NestSchedule(vectorize=vectors, unroll=unroll)
    body = Block()
    constants = [
        arith.ConstantOp(identity_value(combiner, write.element))  # pyright: ignore
        for combiner, write in zip(stage.totals, stage.writes, strict=True)
    ]
    body.add_ops([*constants, YieldOp([c.result for c in constants])])
    op = GenericOp(
        stage.op.extents,
        [],
        [],
        stage.op.write_maps,
        ["store"] * len(constants),
        [],
        Region(body),
        outs=list(stage.op.outs),
    )
    return Stage(
        op,
        stage.extents,
        stage.rows,
        stage.inner,
        [],
        stage.writes,
        stage.combiners,
        stage.reduced,
        schedule=schedule,
    )


class RowSumsSegment(RowSegment):
    """The sweeps of a row, some stages of which add to totals."""

    def _emitter(self, kind: type[SweepEmitter], sweep: Sweep) -> SweepEmitter:
        return super()._emitter(RowSumsEmitter if kind is SweepEmitter else kind, sweep)


class RowSumsEmitter(SweepEmitter):
    """A sweep that adds what stages with totals give, where others store.

    Each step first loads the old totals, and nothing twice: rows that are whole pages apart look to
    the CPU like the same place, and a load behind a store to such a place waits for it.
    """

    def _step(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        prepared: dict[Stage, Body],
        index: Index,
        mask: SSAValue | None,
        carried: Sequence[SSAValue],
    ) -> list[SSAValue]:
        self._loaded: dict[Hashable, Lane] = {}
        self._old = {
            (stage, number): self._total(emit, stage, number, envs[stage], index, mask)
            for stage in self.sweep.stages
            for number in range(len(stage.totals))
        }
        return super()._step(emit, envs, prepared, index, mask, carried)

    def _total(
        self,
        emit: Emitter,
        stage: Stage,
        number: int,
        env: Env,
        index: Index,
        mask: SSAValue | None,
    ) -> SSAValue:
        """A total, or a vector of them, as it stands."""
        access, dim = stage.writes[number], self._vector_dim(stage)
        flat = self.memory.flat[access.memory]
        if dim is None:
            at = self.memory.offset(emit, access, env, None)
            return emit.add(memref.LoadOp.get(flat, [emit.value(at)]))
        at = self.memory.offset(emit, access, {**env, dim: index}, None)
        stride = self.memory.layout(access).coefficient(dim)
        return load(emit, flat, access.element, at, stride, self.lanes, mask).value

    def _load_reads(
        self,
        emit: Emitter,
        stage: Stage,
        body: Body,
        env: Env,
        dim: int | None,
        mask: SSAValue | None,
        made: dict[SSAValue, Lane],
    ) -> None:
        written = {w.memory for s in self.sweep.stages for w in s.writes}
        keys: dict[SSAValue, Hashable] = {}
        for access, argument in self._arguments(stage):
            if argument not in body.values and access.memory not in written and access.pad is None:
                keys[argument] = key = self._place(stage, access)
                if key in self._loaded:
                    body.values[argument] = self._loaded[key]
        super()._load_reads(emit, stage, body, env, dim, mask, made)
        self._loaded.update((key, body.values[argument]) for argument, key in keys.items())

    def _place(self, stage: Stage, access: Access) -> Hashable:
        """Equal for reads of the same elements at a position of the kernel's rows and the sweep."""
        form = self.memory.layout(access)
        dims = (*stage.rows, *self.sweep.order[stage])
        return access.memory, form.constant, tuple(form.coefficient(d) for d in dims)

    def _emit_result(
        self,
        emit: Emitter,
        stage: Stage,
        number: int,
        body: Body,
        value: SSAValue,
        env: Env,
        dim: int | None,
        mask: SSAValue | None,
        made: dict[SSAValue, Lane],
    ) -> None:
        if not stage.totals:
            super()._emit_result(emit, stage, number, body, value, env, dim, mask, made)
            return
        access, combiner, old = stage.writes[number], stage.totals[number], self._old[stage, number]
        at = self.memory.offset(emit, access, env, None)
        flat = self.memory.flat[access.memory]
        if self.lanes == 1 or dim is None:
            total = combine(emit, combiner, old, body.values[value].value)
            emit.run(memref.StoreOp.get(total, flat, [emit.value(at)]))
            return
        stride = self.memory.layout(access).coefficient(dim)
        total = combine(emit, combiner, old, body.vector(emit, value))
        store(emit, total, flat, at, stride, self.lanes, mask)
