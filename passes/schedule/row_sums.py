"""Nests that sum over rows: a loop walks the rows in turn, and each is added to totals.

The totals stay in memory, in the nearest cache that holds them, and are cleared at the start of the
task. Everything else of a row is scheduled as in any kernel of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, LiveTurnsOp, YieldOp
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.schedules import NestSchedule
from lamina.passes.cost.sweep_limits import CLEARING_UNROLL
from lamina.passes.schedule.body import Body, Lane, load
from lamina.passes.schedule.combine import combine, store
from lamina.passes.schedule.emitter import Emitter, Index, known_index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.loop_ends import end_loops
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.peel import Vectors
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Access, Stage, turn_rows
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.sweep import Prepared, SweepEmitter
from lamina.passes.schedule.sweeps import allocate_scratch, scheduled_sweeps


def emit_sums(
    emit: Emitter,
    loop: scf.ForOp,
    stages: Sequence[Stage],
    starts: Sequence[tuple[Index, int]],
    memory: Memory,
    outputs: set[SSAValue],
) -> None:
    """Append a loop over the rows of a task, which its nests run in turn.

    `starts` has, of each slice of rows, where it begins and how many of the stages' rows it is of.
    """
    sweeps = scheduled_sweeps(list(stages))
    end_loops(sweeps, memory)
    segment = RowSumsSegment(sweeps, memory, outputs)
    counter, ops = loop.body.block.args[0], block_ops(loop.body.block)
    for op in ops:
        op.detach()
    allocate_scratch(emit, sweeps, memory, outputs)
    rows = [stages[0].extents[d] for d in stages[0].rows]
    front, turns = rows[: -starts[-1][1]], rows[-starts[-1][1] :]
    position = emit.split(starts[0][0], front) if front else []
    _clear(emit, sweeps, [*position, *[0] * len(turns)], memory)
    emit.again(loop)
    inner, later = emit.inside(loop.body.block), None
    if (fetch := segment.prefetch()) is not None:
        end = inner.minus(known_index(loop.ub), 1)  # rows behind it may be padding
        last = inner.least(inner.plus(counter, fetch.rows), end)
        later = _envs(stages, [*position, *inner.split(last, turns)])
    at = _envs(stages, [*position, *inner.split(counter, turns)])
    segment.run(inner, at, None, later)
    for op in ops:
        if not isinstance(op, GenericOp):
            inner.again(op)


def turns_in(
    loop: Operation, stages: Sequence[Stage], starts: Sequence[tuple[Index, int]]
) -> scf.ForOp:
    """The loop, which walks all rows that its nests sum over. Raises InputError for others."""
    turns = turn_rows(stages)
    if (
        not isinstance(loop, scf.ForOp)
        or len(starts) not in (1, 2)
        or starts[-1] != (loop.body.block.args[0], len(turns))
        or [constant_integer(end) for end in (loop.lb, loop.step)] != [0, 1]
        or not _is_end(loop.ub, prod(turns))
    ):
        raise illegal(
            stages[0].op,
            "slices: rows that are summed over are one slice, at the counter of an scf.for from 0 "
            "to their number around all nests; rows in front of them are one slice before it",
        )
    return loop


def _is_end(end: SSAValue, turns: int) -> bool:
    """Whether a loop up to there takes all rows, or those that are live."""
    if isinstance(end.owner, LiveTurnsOp):
        return end.owner.rows == turns
    return constant_integer(end) == turns


def _envs(stages: Sequence[Stage], position: Sequence[Index]) -> Envs:
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
                cleared.op.erase()


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
        envs: Envs,
        prepared: Prepared,
        at: Vectors,
        carried: Sequence[SSAValue],
    ) -> list[SSAValue]:
        self._loaded: dict[Hashable, Lane] = {}
        self._old = {
            (stage, number): self._total(emit, stage, number, envs[stage], at)
            for stage in self.sweep.stages
            for number in range(len(stage.totals))
        }
        return super()._step(emit, envs, prepared, at, carried)

    def _total(self, emit: Emitter, stage: Stage, number: int, env: Env, at: Vectors) -> SSAValue:
        """A total, or a vector of them, as it stands."""
        dim = self._vector_dim(stage)
        env = env if dim is None else {**env, dim: at.at}
        here = Step(stage, Body(1), env, dim, at.mask, {})
        where = self._place(emit, stage.writes[number], here)
        return load(emit, replace(where, lanes=1) if dim is None else where).value

    def _load_reads(self, emit: Emitter, at: Step) -> None:
        written = {w.memory for s in self.sweep.stages for w in s.writes}
        keys: dict[SSAValue, Hashable] = {}
        known = at.body.values
        for access, argument in self._arguments(at.stage):
            if argument not in known and access.memory not in written and access.pad is None:
                keys[argument] = key = self._key(at.stage, access)
                if key in self._loaded:
                    known[argument] = self._loaded[key]
        super()._load_reads(emit, at)
        self._loaded.update((key, known[argument]) for argument, key in keys.items())

    def _key(self, stage: Stage, access: Access) -> Hashable:
        """Equal for reads of the same elements at a position of the kernel's rows and the sweep."""
        form = self.memory.layout(access)
        dims = (*stage.rows, *self.sweep.order[stage])
        return access.memory, form.constant, tuple(form.coefficient(d) for d in dims)

    def _emit_result(self, emit: Emitter, at: Step, number: int) -> None:
        stage, value = at.stage, at.stage.op.yielded[number]
        if not stage.totals:
            super()._emit_result(emit, at, number)
            return
        combiner, old = stage.totals[number], self._old[stage, number]
        where, new = self._place(emit, stage.writes[number], at), at.body.values[value].value
        if self.lanes == 1 or at.dim is None:
            where = replace(where, lanes=1)
        else:
            new = at.body.vector(emit, value)
        store(emit, combine(emit, combiner, old, new), where)
