"""What a task of a kernel without packed products is: which rows, how much of them, how many."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop.bounds import ENDS
from lamina.dialects.loop.clauses import MOST
from lamina.dialects.loop.kernel_nests import live_rows_of
from lamina.dialects.loop.schedules import RowTasks
from lamina.passes.cost.cache_shares import column_scratch_bytes
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.cost.kernel_model import COLUMN_TASKS_A_CORE, LINE_TILES
from lamina.passes.cost.row_limits import (
    CHUNK_WORK,
    COLUMN_TASKS,
    ENOUGH_TASKS,
    LEAST_CHUNK,
    LEAST_LINE,
    LEAST_STREAM_TASKS,
    MOST_CHUNK,
    MOST_SHARED_ROWS,
    PARALLEL_WORK,
    ROW_STREAMS,
    STREAM_VECTORS,
    WHOLE_LINES,
)
from lamina.passes.cost.sweep_limits import BLOCK_TILES, COLUMN_UNROLL, LIGHT_BODY
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.choose_compute_at import choose_compute_at
from lamina.passes.schedule.choose_sweeps import (
    SweepSurroundings,
    choose_fetch_along,
    choose_prefetch,
    choose_sweeps,
    decide,
    group_sweeps,
    transposed_dim,
    widest_bits,
)
from lamina.passes.schedule.jammed_rows import has_gaps
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.memory import Memory, Sweep
from lamina.passes.schedule.narrow_columns import narrow_rows
from lamina.passes.schedule.stages import (
    Access,
    Stage,
    collapse_rows,
    take_inner,
    task_rows,
    turn_rows,
)
from lamina.passes.schedule.sweep_legality import only_reduces, verify_common_loop
from lamina.passes.schedule.sweeps import (
    column_windows,
    flat_arguments,
    keeps_columns_apart,
    lay_out_scratch,
    outputs_of,
)
from lamina.passes.schedule.vector_place import vector_place


def choose_rows(stages: list[Stage], given: RowTasks, target: Target, *, forks: bool) -> RowTasks:
    """The schedule of the part, and those of its stages (in place); what is given stays."""
    outputs = outputs_of(stages)
    forks = forks and work(stages) >= PARALLEL_WORK if given.parallel is None else given.parallel
    collapse_rows(stages)
    divides = task_rows(stages) > 0 or not any(s.totals for s in stages)
    tasks = given.completed_by(RowTasks(parallel=forks and divides))
    memory = Memory(flat=flat_arguments(stages))
    if any(s.totals for s in stages):
        sweeps = group_sweeps(stages)
        lay_out_scratch(sweeps, memory, outputs)
        around = SweepSurroundings(memory, target)
        choose_sweeps(sweeps, around)
        _choose_fetches(sweeps, prod(turn_rows(stages)), around)
        return tasks
    is_popped = all(not s.inner for s in stages)
    most, line = 0, None
    if given.inner is not None:
        if not is_popped and given.inner[-1:] == (len(stages[0].rows) - 1,):  # as chosen below
            most = _columns_in(stages, target, outputs)
            line = given.inner[0] if most and len(given.inner) > 1 else None
        take_inner(stages, given.inner)
    elif is_popped and stages[0].rows:
        tasks = tasks.completed_by(RowTasks(inner=_pop_rows(stages, target)))
    elif not is_popped and (most := _columns_in(stages, target, outputs)):
        line = _line_in(stages, target, outputs, forks=forks)
        lines = () if line is None else (line,)
        tasks = tasks.completed_by(RowTasks(inner=(*lines, len(stages[0].rows) - 1)))
    if given.inner is None:
        take_inner(stages, tasks.inner or ())
    rows = prod(stages[0].extents[d] for d in stages[0].rows)
    if tasks.tile is None and tasks.inner and line is None:
        fewest = _fewest_rows(stages[0]) if is_popped else rows
        tasks = tasks.completed_by(RowTasks(tile=_tile(stages, fewest, most, target, forks=forks)))
    if tasks.tile is not None:
        verify_common_loop(stages)
    length = stages[0].inner_extents[0] if tasks.tile is not None else 0
    whole = tasks.tile is None or tasks.tile >= length
    sweeps = group_sweeps(stages, follow=whole and bool(tasks.inner))
    divided = not whole and not is_popped
    lay_out_scratch(
        sweeps, memory, outputs, column_windows(stages, tasks.tile or 1) if divided else {}
    )
    around = SweepSurroundings(memory, target, whole, None if whole else tasks.tile)
    only_reduces = not any(stage.schedule.cache_read for stage in stages)  # else rows are copied
    if tasks.jam is None and not is_popped and whole and only_reduces and _may_be_beside(stages):
        tasks = tasks.completed_by(RowTasks(jam=_row_streams(sweeps, rows, target, outputs)))
    if (tasks.jam or 1) > 1:
        fits = (tasks.jam or 1) * STREAM_VECTORS < target.vector_registers
        decide(sweeps[0].stages[0], unroll=STREAM_VECTORS if fits else 1)
    choose_sweeps(sweeps, around)
    if whole and not tasks.inner and (tasks.jam or 1) == 1:
        choose_compute_at(sweeps, target)
    if (tasks.jam or 1) == 1:
        _choose_fetches(sweeps, rows if whole else 0, around)
    return tasks


def _may_be_beside(stages: Sequence[Stage]) -> bool:
    """Whether rows side by side are such as count.

    Of rows that count and lie apart, or whose loops end at numbers of the call, all would run.
    """
    live = live_rows_of(stages[0].op)
    ends = any(ENDS in stage.op.attributes for stage in stages)
    return live is None or not (has_gaps(live) or ends)


def _fewest_rows(stage: Stage) -> int:
    """How many rows there are where all that end at numbers of the call have one position."""
    ending = open_rows(stage.op)
    return prod(stage.extents[d] for d in stage.rows if d not in ending)


def _choose_fetches(sweeps: list[Sweep], rows: int, around: SweepSurroundings) -> None:
    if len(sweeps) == 1:
        choose_fetch_along(sweeps[0], around)
    else:
        choose_prefetch(sweeps, rows, around)


def _pop_rows(stages: list[Stage], target: Target) -> tuple[int, ...]:
    """The place of the row that vectorizes best, the loop of every task.

    A lone stage that reads along another dimension keeps that one inner too, in front, to be
    transposed in tiles. So it is with the row in front where rows end at numbers of the call: they
    are not joined then, and may be short.
    """
    rows = stages[0].rows
    place = vector_place(Sweep(stages, {s: s.rows for s in stages}))
    if (given := stages[0].schedule.vectorize) is not None and given.dim in rows:
        place = rows.index(given.dim)
    if len(stages) == 1:
        lanes = target.lanes(widest_bits(stages))
        across = transposed_dim(stages[0], rows, rows[place], lanes)
        if across is not None:
            return (rows.index(across), place)
    short = stages[0].extents[rows[place]] < MOST_CHUNK
    if 0 < place == len(rows) - 1 and short and open_rows(stages[0].op):
        return (place - 1, place)
    return (place,)


def _tile(stages: list[Stage], rows: int, most: int, target: Target, *, forks: bool) -> int | None:
    """Positions of the first loop that a task takes; None for all of them.

    `most` is how many columns there may be for the scratch of a task; 0 if columns are no matter.
    """
    length, lanes = stages[0].inner_extents[0], target.lanes(widest_bits(stages))
    width = length
    if most:
        tasks = _column_tasks(stages, target) // rows if forks else 1
        width = min(most, _column_width(length, lanes, tasks))
        if open_rows(stages[0].op) and _lie_apart(stages):
            width = min(width, LEAST_CHUNK)  # the last task runs whole
    elif rows >= ENOUGH_TASKS:
        return None
    elif len(inner := stages[0].inner) > 1 and (
        len(stages) == 1 and transposed_dim(stages[0], inner, inner[-1], lanes) is not None
    ):
        width = _tiles_width(length, lanes, -(-ENOUGH_TASKS // rows))
    elif len(inner) > 1:
        width = -(-MOST_CHUNK // prod(stages[0].inner_extents[1:]))
    elif (forks or len(stages) > 1) and length > LEAST_CHUNK:
        width = _chunk_width(length, sum(1 + body_cost(s.op) for s in stages))
    return min(width, MOST) if width < length else None


def _lie_apart(stages: Sequence[Stage]) -> bool:
    """Whether elements of neighbouring columns are no neighbours: runs of memory stay as short,
    however many columns a task has."""
    return any(
        abs(access.stride(stage.inner[0])) > 1 for stage in stages for access in stage.accesses()
    )


def _columns_in(stages: list[Stage], target: Target, outputs: set[SSAValue]) -> int:
    """Whether the last row dimension is to be the first loop of a task: reductions run across it.

    A reduction whose operand is contiguous along a row dimension would gather one column at a
    time; neighbouring columns in the lanes of vectors read whole cache lines. Returns how many
    columns a task may take, for its scratch to stay within limits; 0 leaves all as it is.
    """
    if not stages[0].rows:
        return 0
    extent = stages[0].extents[stages[0].rows[-1]]
    lanes = target.lanes(widest_bits(stages))
    if 2 * extent < lanes and not _fill_vectors(stages, target):
        return 0
    for stage in stages:
        order = (stage.rows[-1], *stage.inner)
        if stage.inner and vector_place(Sweep([stage], {stage: order})) != 0:
            return 0
    kept = sum(_kept_bytes(s, outputs) for s in stages)
    most = extent
    if kept > (room := column_scratch_bytes(target)):
        most = room * extent // kept // lanes * lanes
        if most == 0 or not all(keeps_columns_apart(s, s.rows[-1], outputs) for s in stages):
            return 0
    return most


def _fill_vectors(stages: Sequence[Stage], target: Target) -> bool:
    """Whether rows of a few columns, the last row, fill vectors together in all that reduces."""
    lanes = target.lanes(widest_bits(stages))
    return all(
        narrow_rows(Sweep([s], {s: (s.rows[-1], *s.inner)}), s.rows[-1], lanes) is not None
        for s in stages
        if s.inner
    )


def _line_in(
    stages: Sequence[Stage], target: Target, outputs: set[SSAValue], *, forks: bool
) -> int | None:
    """The place of a row that is to be a loop of a task in front of its columns; None if none is.

    Several positions of it share what a reduction reads along the columns alone, such as the weight
    of a depthwise convolution with channels innermost: they are jammed. Cores that find no line
    must not cost more than that gains, and scratch stays within its limit.
    """
    rows = stages[0].rows
    if len(rows) < 2 or stages[0].extents[rows[-2]] < LEAST_LINE:
        return None
    if not any(_shares_columns(s) for s in stages):
        return None
    lines = prod(stages[0].extents[d] for d in rows[:-2])
    turns = -(-lines // target.cores)
    if forks and turns * target.cores > LINE_TILES * lines:
        return None
    if sum(_kept_bytes(s, outputs, 2) for s in stages) > column_scratch_bytes(target):
        return None
    return len(rows) - 2


def _shares_columns(stage: Stage) -> bool:
    """Whether a light reduction reads something along its last row, the columns, that is the same
    for all positions of the row in front of it, or for some of them, as windows overlap."""
    line, column = stage.rows[-2:]
    if stage.is_pointwise or stage.op.sources or body_cost(stage.op) > LIGHT_BODY:
        return False
    return any(
        r.stride(column) and (not r.stride(line) or _slides(r, line, stage.reduced))
        for r in stage.reads
    )


def _slides(read: Access, line: int, reduced: Collection[int]) -> bool:
    """Whether windows over what is reduced slide along a dimension in steps of one."""
    return any(
        form.coefficient(line) == 1 and any(form.coefficient(d) == 1 for d in reduced)
        for form in read.axes
    )


def _kept_bytes(stage: Stage, outputs: set[SSAValue], inner: int = 1) -> int:
    """Scratch for what a stage hands on, once its last `inner` row dimensions are inner ones."""
    total = 0
    for write in stage.writes:
        if write.memory not in outputs:
            dims = {d for form in write.axes for d, _ in form.terms} - set(stage.rows[:-inner])
            bits = getattr(write.element, "bitwidth", 64)
            total += prod(stage.extents[d] for d in dims) * max(1, bits // 8)
    return total


def _column_tasks(stages: list[Stage], target: Target) -> int:
    """Tasks of columns: more where what they walk again is to stay in a cache meanwhile."""
    points = max(s.points for s in stages)
    if sum(s.points == points for s in stages) > 1:
        return COLUMN_TASKS
    return min(COLUMN_TASKS, COLUMN_TASKS_A_CORE * target.cores)


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


def _row_streams(
    sweeps: Sequence[Sweep], rows: int, target: Target, outputs: set[SSAValue]
) -> int | None:
    """How many rows to run at once; None if the kernel does more than reduce them, or reads little.

    One sweep must reduce along one dimension, and all others do arithmetic on its totals: rows that
    are walked again would push each other out of the nearest cache. Of rows that share nothing the
    caches hold enough for one at a time.
    """
    first, *rest = sweeps
    if any(sweep.extents for sweep in rest) or not only_reduces(first, rest, outputs):
        return None
    read = {r.memory for s in first.stages for r in s.reads}
    size = sum(byte_size(m.type) for m in read if isinstance(m.type, MemRefType))
    shared = _shared_rows(first.stages[0])
    if shared == 1 and size <= target.l2_bytes:
        return None
    if sum(body_cost(s.op) for s in first.stages) > LIGHT_BODY:
        return None
    alike = [n for n in range(MOST_SHARED_ROWS, 1, -1) if shared % n == 0]
    counts = (*alike, *ROW_STREAMS)
    if shared in alike:
        # Tiles of all these rows at several places of what they share, far apart.
        places = [n for n in range(max(ROW_STREAMS), 1, -1) if rows // shared % n == 0]
        tiles = (shared * n for n in places if shared * n < target.vector_registers)
        counts = (*tiles, *counts)
    fitting = (n for n in counts if rows % n == 0 and rows // n >= LEAST_STREAM_TASKS)
    return next(fitting, None)


def _shared_rows(stage: Stage) -> int:
    """Positions of the outermost rows for which the largest read is the same; 1 without reads."""
    if not stage.reads:
        return 1
    largest = max(stage.reads, key=lambda r: byte_size(r.memory.type))  # pyright: ignore
    same = takewhile(lambda d: largest.stride(d) == 0, stage.rows)
    return prod(stage.extents[d] for d in same)


def work(stages: Sequence[Stage]) -> int:
    """Cost units of the kernel: iteration points times what the body costs."""
    return sum(s.points * (1 + body_cost(s.op)) for s in stages)
