"""Nests in their task loops become loops over vectors: what `parallelize` leaves.

A task is what the loops of a kernel that stand around all nests of a part do in one step. Its nests
run for the same rows, so that what they hand each other is scratch of the task, or in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.slices import Slice
from lamina.dialects.op_disposal import erase
from lamina.dialects.op_list import instances_under, list_ops
from lamina.passes.contracts.task_loops import LOOPS, index_range
from lamina.passes.schedule.emitter import Emitter, Index, known_index
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.kept_slices import verify_kept, windows_of
from lamina.passes.schedule.live_rows import row_ahead
from lamina.passes.schedule.loop_ends import end_loops, end_rows
from lamina.passes.schedule.memory import Envs, Memory, Sweep
from lamina.passes.schedule.pair_copy import PairCopy
from lamina.passes.schedule.parallelize import jam_refusal, tile_refusal
from lamina.passes.schedule.prefetch import rows_ahead
from lamina.passes.schedule.row_sums import emit_sums, turns_in
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Stage, collapse, stages_of
from lamina.passes.schedule.sweep_legality import only_reduces
from lamina.passes.schedule.sweeps import (
    allocate_scratch,
    outputs_of,
    scheduled_sweeps,
)
from lamina.passes.schedule.task_slices import (
    block_of,
    differ,
    inner_slices,
    is_bound,
    take_slices,
    verify_alike,
)


def emit_loop(emit: Emitter, loop: Operation, memory: Memory) -> None:
    """Append a loop of a kernel; the nests in it become loops over vectors."""
    assert isinstance(loop, LOOPS)
    nests = [op for op in block_ops(loop.body.block) if isinstance(op, GenericOp)]
    if any(map(summed_rows, nests)):
        _emit_sums(emit, loop, nests, memory)
        return
    if not _walks_tasks(loop):
        emit_task(emit, [loop], memory)
        return
    emit.again(loop)
    inner, ops = emit.inside(loop.body.block), _detached(loop)
    emit_task(inner, ops, memory)


def _walks_tasks(loop: Operation) -> bool:
    """Whether a loop is over tasks, or rows of one, and not over slices of what stands in one."""
    if isinstance(loop, scf.ParallelOp):
        return True
    nests = instances_under(loop, GenericOp)
    rows = [
        block_of(symbol)
        for nest in nests
        for symbol, entry in zip(nest.symbols, nest.slices, strict=True)
        if is_bound(entry, rows_of(nest))
    ]
    if len(nests) < 2:
        return True  # which hands nothing on
    return any(block is not None and loop.is_ancestor(block) for block in rows)


def emit_task(emit: Emitter, ops: Sequence[Operation], memory: Memory) -> None:
    """Append the ops of a task: nests, loops around nests, and index arithmetic.

    Raises InputError for nests that cannot share a task, and for schedules that they cannot have.
    """
    loops = [op for op in ops if isinstance(op, LOOPS)]
    nests = [nest for op in ops for nest in list_ops(op) if isinstance(nest, GenericOp)]
    within = all(nest.parent is not None for nest in nests)
    if len(loops) == 1 and within and _walks_tasks(loops[0]):
        for op in ops:  # all nests stand in the one loop
            emit_loop(emit, op, memory) if op is loops[0] else emit.again(op)
        return
    places = [n for n, op in enumerate(ops) if isinstance(op, (GenericOp, *LOOPS))]
    first = places[0] if places else len(ops)
    for op in ops[:first]:
        emit.again(op)
    if _copies_pairs(emit, nests, memory):
        for op in ops[first:]:
            if not isinstance(op, GenericOp):
                emit.again(op)
    elif nests:
        Task(nests, memory).run(emit, ops[first:])
    else:
        for op in ops[first:]:
            emit.again(op)
    for nest in nests:
        erase(nest)


def _copies_pairs(emit: Emitter, nests: Sequence[GenericOp], memory: Memory) -> bool:
    """Append a task that packs pairs for matrix tiles in registers, if it is one."""
    if len(nests) != 1:
        return False
    copy = PairCopy.of(stages_of(list(nests))[0])
    return copy is not None and copy.emit_slice(emit, memory)


def _emit_sums(emit: Emitter, loop: Operation, nests: Sequence[GenericOp], memory: Memory) -> None:
    """Append a loop of which some nests sum over rows."""
    task = Task(nests, memory)
    entries = zip(task.starts, (dims[0] for dims in task.rows), strict=True)
    starts = [(start, len(dims)) for start, dims in entries]
    if any(task.inner.values()) or sum(isinstance(op, LOOPS) for op in loop.walk()) > 1:
        raise illegal(nests[0], "slices: of a nest in a kernel that sums over rows, of rows alone")
    turns = turns_in(loop, task.stages, starts)
    emit_sums(emit, turns, task.stages, starts, memory, task.outputs)
    for nest in nests:
        nest.erase()


def _detached(loop: Operation) -> list[Operation]:
    """The ops of a loop's body, taken out of it."""
    assert isinstance(loop, LOOPS)
    ops = block_ops(loop.body.block)
    for op in ops:
        op.detach()
    return ops


class Task:
    """The nests of a task in order; `run` emits them where they stand."""

    def __init__(self, nests: Sequence[GenericOp], memory: Memory) -> None:
        self.memory = memory
        self.stages = stages_of(list(nests))
        self.bound = {stage: take_slices(stage) for stage in self.stages}
        self.inner = {stage: inner_slices(stage) for stage in self.stages}
        verify_alike(self.stages, self.bound)
        first = self.stages[0]
        self.starts = [known_index(symbol) for symbol, _ in self.bound[first]]
        groups = zip(
            *([entry.dims for _, entry in self.bound[s]] for s in self.stages), strict=True
        )
        self.rows = [collapse(self.stages, group) for group in groups]
        self.outputs = outputs_of(self.stages)
        self.sweeps: dict[GenericOp, list[Sweep]] = {}

    def run(self, emit: Emitter, ops: Sequence[Operation]) -> None:
        """Append ops of one block, the first of them a nest or a loop."""
        if summing := next((stage for stage in self.stages if stage.totals), None):
            raise illegal(
                summing.op, "slices: a nest that sums over rows stands in a loop over them"
            )
        by_nest = {stage.op: stage for stage in self.stages}
        for number, run in enumerate(_runs(ops)):
            self.sweeps[run[0]] = scheduled_sweeps([by_nest[nest] for nest in run], number)
        sweeps = [sweep for run in self.sweeps.values() for sweep in run]
        slices = {s: {d: self.inner[s][d] for d in self._parts(s)} for s in self.stages}
        loops = {loop.body.block for op in ops for loop in list_ops(op) if isinstance(loop, LOOPS)}
        verify_kept(self.stages, slices, loops)
        end_loops(sweeps, self.memory)
        groups = {
            s: {d: entry.dims for d, (_, entry) in self.inner[s].items()} for s in self.stages
        }
        end_rows(sweeps, groups, self.memory)
        self._verify_tiles(sweeps)
        windows = windows_of(self.stages, slices)
        kept = {memory: window for memory, (window, _) in windows.items()}
        allocate_scratch(emit, sweeps, self.memory, self.outputs, kept)
        first = self.stages[0]
        together = [entry for _, entry in self.bound[first] if entry.size > 1]
        if together:
            self._run_together(emit, ops, sweeps, together[0])
            return
        envs, later = self._envs(emit, self.starts), self._later(emit, sweeps)
        for window, start in windows.values():
            for env in envs.values():
                env[window.start] = known_index(start)
        self._block(emit, ops, envs, later)

    def _block(
        self,
        emit: Emitter,
        ops: Sequence[Operation],
        envs: Envs,
        later: Envs | None,
    ) -> None:
        for op in ops:
            if isinstance(op, LOOPS):
                inner = _detached(op)
                emit.again(op)
                self._block(emit.inside(op.body.block), inner, envs, later)
            elif isinstance(op, GenericOp):
                if (sweeps := self.sweeps.get(op)) is not None:
                    segment = RowSegment(sweeps, self.memory, self.outputs)
                    segment.run(emit, envs, self._ranges(emit, sweeps), later)
            else:
                emit.again(op)

    def _run_together(
        self, emit: Emitter, ops: Sequence[Operation], sweeps: list[Sweep], entry: Slice
    ) -> None:
        """Rows far apart, side by side."""
        first = self.stages[0]
        extent, count = entry.extent(first.op.extents), entry.size
        if (
            len(self.starts) != 1
            or len(self.sweeps) != 1
            or any(isinstance(op, LOOPS) for op in ops)
            or any(self._parts(stage) for stage in self.stages)
            or (entry.step is not None and entry.step * count != extent)
            or any(sweep.extents for sweep in sweeps[1:])
            or not only_reduces(sweeps[0], sweeps[1:], self.outputs)
        ):
            raise illegal(first.op, jam_refusal(count, extent))
        rows = [self._row_beside(emit, k, entry.step) for k in range(count)]
        RowSegment(sweeps, self.memory, self.outputs).run_together(emit, rows)
        for op in ops:
            if not isinstance(op, GenericOp):
                emit.again(op)

    def _row_beside(self, emit: Emitter, number: int, step: int | None) -> Envs:
        """The positions of the row that is `number` steps behind the task's own."""
        if step is not None:
            return self._far_row(emit, number, step)
        (computed,) = self.stages[0].op.steps
        ahead = emit.times(known_index(computed), number)
        return self._envs(emit, [emit.plus(self.starts[0], ahead)])

    def _far_row(self, emit: Emitter, number: int, step: int) -> Envs:
        """The positions of the row that is `number` steps behind the task's own.

        Where steps are multiples of inner dimensions, positions along those are the task's own, and
        where steps divide them, positions along outer ones are numbers: what rows read alike is
        then seen to be the same.
        """
        start = self.starts[0]
        extents = [self.stages[0].extents[d] for d in self.rows[0][0]]
        sizes = [prod(extents[n:]) for n in range(len(extents))]
        inner = next((n for n in range(1, len(extents)) if step % sizes[n] == 0), None)
        around = next((n for n in range(len(extents) - 1, 0, -1) if sizes[n] % step == 0), None)
        if around is not None:  # the task's own row is one of the first so many
            inner = around
            outer_at, ahead = divmod(number * step, sizes[inner])
            outer, within = emit.split(outer_at, extents[:inner]), emit.plus(start, ahead)
        elif inner is not None:
            first, within = emit.quotient(start, sizes[inner]), emit.remainder(start, sizes[inner])
            at = emit.plus(first, number * (step // sizes[inner]))
            outer = emit.split(at, extents[:inner])
        else:
            return self._envs(emit, [emit.plus(start, number * step)])
        position = [*outer, *emit.split(within, extents[inner:])]
        return {
            stage: dict(zip(dims, position, strict=True))
            for stage, dims in zip(self.stages, self.rows[0], strict=True)
        }

    def _envs(self, emit: Emitter, starts: Sequence[Index]) -> Envs:
        """The positions of all rows, given where the slice of each group of them begins."""
        envs: Envs = {stage: {} for stage in self.stages}
        for start, dims in zip(starts, self.rows, strict=True):
            extents = [self.stages[0].extents[d] for d in dims[0]]
            position = emit.split(start, extents)
            for stage, own in zip(self.stages, dims, strict=True):
                envs[stage].update(zip(own, position, strict=True))
        return envs

    def _later(self, emit: Emitter, sweeps: list[Sweep]) -> Envs | None:
        """The positions of the row that is fetched ahead, if some sweep does that."""
        fetch = next((f for s in sweeps if (f := rows_ahead(s)) is not None), None)
        parts = any(not self._is_whole(s, d) for s in self.stages for d in self.inner[s])
        if fetch is None or parts:
            return None
        if len(self.starts) > 1:
            raise illegal(self.stages[0].op, "prefetch_rows: several loops walk the rows")
        first = self.stages[0]
        ahead = [
            row_ahead(emit, first.op, entry.dims, start, fetch)
            for start, (_, entry) in zip(self.starts, self.bound[first], strict=True)
        ]
        return self._envs(emit, ahead)

    def _is_whole(self, stage: Stage, dim: int) -> bool:
        """Whether a sliced dimension is walked from end to end."""
        symbol, entry = self.inner[stage][dim]
        return entry.is_whole(stage.op.extents) and constant_integer(symbol) == 0

    def _ranges(
        self, emit: Emitter, sweeps: Sequence[Sweep]
    ) -> dict[Sweep, dict[int, tuple[Index, Index]]]:
        """Where the sliced loops of each sweep begin and end, by dimension."""
        found: dict[Sweep, dict[int, tuple[Index, Index]]] = {}
        ends: dict[tuple[SSAValue, int, int], tuple[Index, Index]] = {}
        for sweep in sweeps:
            stage = sweep.stages[0]
            found[sweep] = {}
            for dim, (symbol, entry) in self.inner[stage].items():
                if self._is_whole(stage, dim):
                    continue
                extent, low = stage.extents[dim], known_index(symbol)
                if (key := (symbol, entry.size, extent)) not in ends:
                    high = emit.plus(low, entry.size)
                    if emit.divisor(low, extent) % entry.size:
                        high = emit.least(high, extent)
                    ends[key] = low, high
                found[sweep][dim] = ends[key]
        return found

    def _verify_tiles(self, sweeps: Sequence[Sweep]) -> None:
        """Raises InputError for sweeps that cannot run a part of their loops."""
        for sweep in sweeps:
            stage = sweep.stages[0]
            for member in sweep.stages:
                for own, other in zip(sweep.order[stage], sweep.order[member], strict=True):
                    if differ(self.inner[stage].get(own), self.inner[member].get(other)):
                        raise illegal(member.op, "compute_with: it runs another slice")
            for member, dims in sweep.followers.items():
                for own, other in dims.items():
                    if differ(self.inner[stage].get(own), self.inner[member].get(other)):
                        raise illegal(member.op, "compute_with: it runs another slice")
            parts = [dim for dim in self.inner[stage] if not self._is_whole(stage, dim)]
            if not parts:
                continue
            if sweep.order[stage][0] != stage.inner[0] and parts == [stage.inner[0]]:
                divided, *others = stage.inner
                legal = f"d{divided} in front of {dim_names(others)}"
                raise illegal(stage.op, f"order: tasks divide the outermost loop: {legal}")
            for member in sweep.stages:
                if divided := member.reduced.intersection(self._parts(member)):
                    raise illegal(member.op, tile_refusal(member, min(divided)))
            if sweep.schedule.transpose is not None:
                for dim in parts:
                    size = self.inner[stage][dim][1].size
                    if size % sweep.lanes:
                        raise illegal(stage.op, f"tile = {size}: not in tiles of {sweep.lanes}")
            jam = sweep.schedule.jam
            if sweep.schedule.online or (jam is not None and parts != [jam.dim]):
                raise illegal(stage.op, "jam, online: tasks divide the row")
            if jam is not None:
                self._verify_jam(stage, jam)

    def _verify_jam(self, stage: Stage, jam: By) -> None:
        """Raises InputError for slices that have fewer positions than are jammed."""
        symbol, entry = self.inner[stage][jam.dim]
        ends = index_range(symbol)
        assert ends is not None  # as the contract of loops around nests says
        least = min(entry.size, stage.extents[jam.dim] - ends[1])
        if jam.count > least:
            said = f"jam = d{jam.dim} x {jam.count}"
            raise illegal(stage.op, f"{said}: the shortest slice has {least} positions")

    def _parts(self, stage: Stage) -> list[int]:
        return [dim for dim in self.inner[stage] if not self._is_whole(stage, dim)]


def _runs(ops: Sequence[Operation]) -> list[list[GenericOp]]:
    """The nests that stand one behind the other, in each block."""
    found: list[list[GenericOp]] = []
    run: list[GenericOp] | None = None
    for op in ops:
        if isinstance(op, GenericOp):
            if run is None:
                run = []
                found.append(run)
            run.append(op)
            continue
        run = None
        if isinstance(op, LOOPS):
            found += _runs(block_ops(op.body.block))
    return found
