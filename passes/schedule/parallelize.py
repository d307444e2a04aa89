"""`parallelize`: the tasks of a kernel's parts as a loop around their nests.

It carries out the `#loop.rows` or `#loop.pairs` of each part and takes it away. A task runs every
nest of the part for one row, for part of one (`tile`), or for several (`jam`): each nest is run for
a slice of its domain. Rows that are loops of the task (`inner`) are sliced whole. Rows over which
some nest sums are a loop of the task around all its nests. `scf.parallel` divides the tasks among
threads; one task needs no loop. Parts around packed products and unstructured ops have loops of
their own: they stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Any

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, Operation

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, LiveCountOp, LiveRowOp, LiveTurnsOp
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import (
    SCHEDULE,
    PairTasks,
    PairTasksAttr,
    RowTasks,
    RowTasksAttr,
)
from lamina.dialects.loop.slices import Slice
from lamina.dialects.loop.tiles import TILE_COLUMNS
from lamina.dialects.records import record
from lamina.passes.fusion.outline_kernels import verify_kernel_function
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.jammed_rows import (
    divide_jammed,
    divided_rows,
    has_gaps,
    may_divide_jammed,
    runs_all_rows,
)
from lamina.passes.schedule.kernel_parts import Part, parts_of, schedules_of
from lamina.passes.schedule.live_rows import divided, joined_live_rows, over_operands
from lamina.passes.schedule.loop_ends import live_end
from lamina.passes.schedule.nest_steps import has_step
from lamina.passes.schedule.pair_copy import PairCopy
from lamina.passes.schedule.stages import (
    Stage,
    collapse_rows,
    stages_of,
    take_inner,
    task_rows,
    turn_rows,
)
from lamina.passes.schedule.sweep_legality import verify_common_loop

Scheduled = tuple[Part, Any]
"""A part and the clauses of its schedule."""


class ParallelizePass(KernelPass):
    """Put the nests of each part of a kernel into a loop over its tasks."""

    name = "parallelize"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        verify_kernel_function(kernel)
        parallelize(kernel)


def parallelize(function: func.FuncOp) -> None:
    """Divide the rows of a bufferized kernel function into tasks, in place.

    Raises InputError for a schedule that the kernel cannot have.
    """
    left = divide_into_tasks(function)
    if SCHEDULE in function.attributes:
        function.attributes[SCHEDULE] = ArrayAttr([part.kind(given) for part, given in left])
        if not left:
            del function.attributes[SCHEDULE]


def divide_into_tasks(function: func.FuncOp) -> list[Scheduled]:
    """`parallelize`, but for the attribute of the kernel; gives the parts that are left."""
    parts = parts_of(function)
    if not parts:
        return []
    found = list(zip(parts, schedules_of(function, parts), strict=True))
    divided = [entry for entry in found if entry[0].kind in (RowTasksAttr, PairTasksAttr)]
    by_nest = {stage.op: entry for entry in divided for stage in entry[0].stages}
    whole = {part for part, tasks in divided if _is_whole(part, tasks)}
    emit = Emitter(function.body.block)
    done = set(whole)
    for op in _taken_apart(function):
        entry = by_nest.get(op) if isinstance(op, GenericOp) else None
        if entry is None or entry[0] in whole:
            emit.again(op)
        elif entry[0] not in done:
            done.add(entry[0])
            _divide(emit, *entry)
    return [
        (part, part.kind.kind() if part in done else given)
        for part, given in found
        if part not in done or not part.stages[0].op.symbols
    ]


def _is_whole(part: Part, tasks: Any) -> bool:
    """Whether nothing divides the nests of a part, so that they stay where they stand.

    Others of the kernel may stand in loops between them.
    """
    undivided = isinstance(tasks, RowTasks) and tasks == RowTasks(parallel=tasks.parallel)
    return undivided and not any(rows_of(stage.op) for stage in part.stages)


def _divide(emit: Emitter, part: Part, tasks: Any) -> None:
    """Append the nests of a part in the loops of its tasks."""
    if part.pairs is not None:
        _divide_pairs(emit, part.pairs, tasks)
    elif any(stage.totals for stage in part.stages):
        _walk_in_turn(emit, part.stages, tasks)
    else:
        _put_into_tasks(emit, part.stages, tasks)


def _taken_apart(function: func.FuncOp) -> list[Operation]:
    """The ops of a kernel, out of its block; its buffers first."""
    ops = block_ops(function.body.block)
    for op in ops:
        op.detach()
    return sorted(ops, key=lambda op: not isinstance(op, memref.AllocOp))


def _put_into_tasks(emit: Emitter, stages: list[Stage], tasks: RowTasks) -> None:
    """Append the loop over the tasks of a part, with its nests, sliced, in it."""
    groups = row_groups(stages)
    take_inner(stages, tasks.inner or ())
    width, length = _tile(stages, tasks)
    chunks = -(-length // width)
    rows = prod(stages[0].extents[d] for d in stages[0].rows)
    together = tasks.jam or 1
    if together > 1 and (tasks.tile is not None or rows % together):
        raise illegal(stages[0].op, jam_refusal(together, rows))
    count = rows * chunks // together
    live = _Live.of(emit, stages[0], groups[0])
    if live is not None and together > 1:
        if may_divide_jammed(stages) and (front := live.rows_in_front(emit)) is not None:
            divide_jammed(emit, stages, groups, together, front, parallel=tasks.parallel)
            return
        live = None
    pieces: Index = chunks if live is None else live.pieces(emit, chunks, width)

    def task(inner: Emitter, number: Index) -> None:
        low: Index = 0
        if chunks > 1:
            alone = rows == 1 and not isinstance(pieces, int)
            piece, number = (number, 0) if alone else divided(inner, number, pieces)
            low = inner.times(piece, width)
        if live is not None:
            number = live.row(inner, number)
        for stage, dims in zip(stages, groups, strict=True):
            slices, starts = list[Slice](), list[Index]()
            if bound := _joined(dims, stage.rows):
                aside = Slice(bound, together, count)
                slices.append(Slice.at(*bound) if together == 1 else aside)
                starts.append(number)
            taken = [d for d in stage.inner if d in dims]
            if chunks > 1 and not taken:
                taken = [stage.inner[0]]
            for place, dim in enumerate(taken):
                group = dims.get(dim, (dim,))
                tiled = chunks > 1 and place == 0
                slices.append(Slice(group, width if tiled else stage.extents[dim]))
                starts.append(low if tiled else 0)
            stage.op.slice_at(slices, [inner.value(start) for start in starts])
            inner.run(stage.op)

    ends = count if live is None else live.tasks(emit, count // chunks, pieces)
    emit.tasks(ends, task, parallel=tasks.parallel)


@record
class _Live:
    """Of the rows of tasks, and of the loop that they divide, those that count."""

    rows: LiveRows | None
    divided: LiveRows | None
    block: Block

    @staticmethod
    def of(emit: Emitter, stage: Stage, groups: dict[int, tuple[int, ...]]) -> _Live | None:
        """None where all of them count."""
        rows = joined_live_rows(stage.op, _joined(groups, stage.rows))
        divided = divided_rows(stage, groups)
        return None if rows is None and divided is None else _Live(rows, divided, emit.entry)

    def row(self, emit: Emitter, number: Index) -> Index:
        """The row of the number-th task."""
        if self.rows is None or isinstance(number, int) or not has_gaps(self.rows):
            return number
        live, counts = over_operands(self.rows, self.block)
        return emit.add(LiveRowOp(number, counts, live))

    def pieces(self, emit: Emitter, chunks: int, width: int) -> Index:
        """Into how many pieces of a width the loop of a task is divided, of `chunks` for all."""
        if self.divided is None or chunks == 1 or self.divided.digits[0].count is None:
            return chunks
        first, *rest = self.divided.digits
        rows = emit.times(self._count(emit, LiveRows((first,))), prod(d.extent for d in rest))
        return emit.quotient(emit.plus(rows, width - 1), width)

    def tasks(self, emit: Emitter, rows: int, pieces: Index) -> Index:
        """How many tasks there are, of so many rows with pieces of the loop for each."""
        live = rows if self.rows is None else self._count(emit, self.rows)
        return emit.times(pieces, live)

    def rows_in_front(self, emit: Emitter) -> Index | None:
        """How many rows count, if those are in front of all others and nothing else is divided."""
        if self.rows is None or self.divided is not None or has_gaps(self.rows):
            return None
        return self._count(emit, self.rows)

    def _count(self, emit: Emitter, rows: LiveRows) -> Index:
        live, counts = over_operands(rows, self.block)
        return emit.add(LiveCountOp(counts, live))


def _walk_in_turn(emit: Emitter, stages: list[Stage], tasks: RowTasks) -> None:
    """As `_put_into_tasks`, where nests sum over rows: each task walks these in turn."""
    if tasks.inner or tasks.tile or (tasks.jam or 1) > 1:
        legal = "tasks are its rows in front of these"
        raise illegal(stages[0].op, f"inner, tile, jam: the kernel sums over rows; {legal}")
    groups = row_groups(stages)
    front = task_rows(stages)
    if tasks.parallel and not front:
        summing = next(stage for stage in stages if stage.totals)
        raise illegal(
            summing.op,
            "parallel: one task walks the rows that are summed over, and no row stands in front of "
            "them; here parallel = false",
        )
    turns = prod(turn_rows(stages))
    count = prod(stages[0].extents[d] for d in stages[0].rows[:front])
    live = live_rows_of(stages[0].op)
    if live is not None and live.turns(turns) is None:
        live = None

    def task(inner: Emitter, number: Index) -> None:
        end: Index = turns
        if live is not None:
            number = _dealt(inner, number, count)
            digits, counts = over_operands(live, emit.entry)
            end = inner.add(LiveTurnsOp(inner.value(number), turns, counts, digits))

        def row(deeper: Emitter, turn: Index) -> None:
            for stage, dims in zip(stages, groups, strict=True):
                sides = ((stage.rows[:front], number), (stage.rows[front:], turn))
                bound = [(_joined(dims, rows), start) for rows, start in sides if rows]
                slices = [Slice.at(*rows) for rows, _ in bound]
                stage.op.slice_at(slices, [deeper.value(start) for _, start in bound])
                deeper.run(stage.op)

        inner.each(0, end, 1, row)

    emit.tasks(count, task, parallel=tasks.parallel)


def _dealt(emit: Emitter, number: Index, count: int) -> Index:
    """The task at a number, of so many: those that follow each other are from all over, as what is
    live is in front."""
    across = next(n for n in range(isqrt(count), 0, -1) if count % n == 0)
    if across == 1 or isinstance(number, int):
        return number
    high = emit.times(emit.remainder(number, across), count // across)
    return emit.plus(high, emit.quotient(number, across))


def _divide_pairs(emit: Emitter, copy: PairCopy, tasks: PairTasks) -> None:
    """Append the loop over the tasks of a nest that packs pairs: pieces of a tile."""
    op, along = copy.stage.op, len(copy.stage.extents) - 3
    chunk = tasks.tile or copy.pairs
    if copy.pairs % chunk or chunk % TILE_COLUMNS:
        legal = f"a multiple of {TILE_COLUMNS} that divides {copy.pairs}"
        raise illegal(op, f"tile = {chunk}: {legal}")
    chunks = copy.pairs // chunk
    rows = joined_live_rows(op, range(along))
    live = None if rows is None else _Live(rows, None, emit.entry)

    def task(inner: Emitter, number: Index) -> None:
        low = inner.times(inner.remainder(number, chunks), chunk)
        row = inner.quotient(number, chunks)
        starts = [row if live is None else live.row(inner, row), low]
        slices = [Slice.at(*range(along)), Slice((along,), chunk)]
        op.slice_at(slices, [inner.value(start) for start in starts])
        inner.run(op)

    count = prod(op.extents[:along])
    ends = count * chunks if live is None else live.tasks(emit, count, chunks)
    emit.tasks(ends, task, parallel=tasks.parallel)


def rows_run_singly(part: Part, tasks: Any) -> dict[GenericOp, tuple[int, ...]]:
    """Of each nest of a part the row dimensions of which just the positions that count are run.

    Tasks have one position of them each, or loops that end there. Nests are left out whose rows are
    divided in other ways, and may be run in blocks, of which the last reaches further.
    """
    if not isinstance(tasks, RowTasks):
        return {}
    stages = stages_of([stage.op for stage in part.stages])
    if any(stage.totals for stage in stages):
        return {}
    groups = row_groups(stages)
    take_inner(stages, tasks.inner or ())
    if runs_all_rows(stages, groups[0], tasks):
        return {}
    block = stages[0].op.parent_block()
    assert block is not None
    ended = set[int]()
    if not any(isinstance(op, GenericOp) and is_packed(op) for op in block_ops(block)):
        ended = {
            place
            for place in range(len(groups[0]))
            if all(map(_ends_within, stages, (list(group.items())[place] for group in groups)))
        }
    return {
        stage.op: _joined(
            dims, [d for place, d in enumerate(dims) if d in stage.rows or place in ended]
        )
        for stage, dims in zip(stages, groups, strict=True)
    }


def _ends_within(stage: Stage, row: tuple[int, tuple[int, ...]]) -> bool:
    """Whether the loop of a task over a row, by what it is made of, ends where what counts does."""
    dim, rows = row
    if stage.schedule.jam is not None or has_step(stage.op) or dim not in stage.inner:
        return False
    return live_end(stage, rows) is not None


def jam_refusal(together: int, rows: int) -> str:
    """Why so many rows do not run side by side."""
    return f"jam = {together}: it divides the rows ({rows}) of a kernel that only reduces them"


def tile_refusal(stage: Stage, dim: int) -> str:
    """Why tasks take no part of a dimension that the stage reduces."""
    legal = f"{stage.extents[dim]} positions at least, which are all of it"
    return f"tile: tasks would divide d{dim}, which is reduced: {legal}"


def row_groups(stages: list[Stage]) -> list[dict[int, tuple[int, ...]]]:
    """Join the rows that every access walks as one (in place); of each, what it is made of."""
    before = [stage.rows for stage in stages]
    collapse_rows(stages)
    found: list[dict[int, tuple[int, ...]]] = []
    for stage, rows in zip(stages, before, strict=True):
        groups: dict[int, tuple[int, ...]] = {}
        group: tuple[int, ...] = ()
        for dim in rows:
            group = (*group, dim)
            if dim in stage.rows:
                groups[dim], group = group, ()
        found.append(groups)
    return found


def _joined(groups: dict[int, tuple[int, ...]], dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(d for dim in dims for d in groups[dim])


def _tile(stages: list[Stage], tasks: RowTasks) -> tuple[int, int]:
    """The positions of a task's first loop that it takes, and all there are."""
    if tasks.tile is None:
        return 1, 1
    verify_common_loop(stages)
    if tasks.tile < stages[0].inner_extents[0]:
        for stage in stages:
            if stage.inner[0] in stage.reduced:
                raise illegal(stage.op, tile_refusal(stage, stage.inner[0]))
    return tasks.tile, stages[0].inner_extents[0]
