"""Sweeps: stages that share one nest of a row, and where what they make is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import alloca_op
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.memory import Memory, Sweep
from lamina.passes.schedule.stages import Access, Stage, is_temporary

FIRST_WINDOW = -4
"""Pseudo-dimension of scratch: where a window begins; those of others go on below it."""

FOLLOWING = ("compute_with", "prefetch", "prefetch_bytes", "nontemporal", "nontemporal_from")
"""Clauses of a nest that shares the loops of another one, which has all others."""


def scheduled_sweeps(stages: Sequence[Stage], run: int = 0) -> list[Sweep]:
    """The stages grouped as their schedules say.

    Raises InputError for loops that cannot be shared, and for dimensions that are none of a task's.
    """
    sweeps: list[Sweep] = []
    for stage in stages:
        if not stage.schedule.compute_with:
            sweeps.append(Sweep([stage], {stage: _order(stage)}, run))
            continue
        order = joined_order(sweeps[-1], stage) if sweeps else None
        followed = followed_dims(sweeps[-1], stage) if sweeps and order is None else None
        if order is None and followed is None:
            why = "it cannot share the loops of the nest before it"
            none = "no nest in front of it has loops in which it runs"
            raise illegal(stage.op, f"compute_with: {why if sweeps else none}")
        if others := own_loops(stage):
            legal = f"a nest that shares loops may have {', '.join(FOLLOWING)}"
            raise illegal(stage.op, f"{', '.join(others)}: {legal}")
        if followed is not None:
            sweeps[-1].followers[stage] = followed
            continue
        assert order is not None
        sweeps[-1].stages.append(stage)
        sweeps[-1].order[stage] = order
    return sweeps


def own_loops(stage: Stage) -> list[str]:
    """The clauses of a stage that are about loops of its own."""
    return [name for name in stage.schedule.texts() if name not in FOLLOWING]


def _order(stage: Stage) -> tuple[int, ...]:
    """The loops of a task as the stage has them, outermost first."""
    order, vectors = stage.schedule.order, stage.schedule.vectorize
    if order is not None and sorted(order) != sorted(stage.inner):
        raise illegal(stage.op, f"order: each loop of a task once: {dim_names(stage.inner)}")
    if vectors is not None and stage.inner and vectors.dim not in stage.inner:
        raise illegal(
            stage.op,
            f"vectorize = d{vectors.dim}: the loops of a task are {dim_names(stage.inner)}",
        )
    return stage.inner if order is None else order


def _reduces_everything(stage: Stage) -> bool:
    return stage.is_pointwise or (
        all(c != "store" for c in stage.combiners) and set(stage.inner) <= stage.reduced
    )


def joined_order(sweep: Sweep, stage: Stage) -> tuple[int, ...] | None:
    """The order of the stage's dims in the sweep's nest, or None if it needs its own nest."""
    if not _reduces_everything(stage) or not all(map(_reduces_everything, sweep.stages)):
        return None
    if len(stage.inner) != len(sweep.extents) or _reads_source_of(sweep, stage):
        return None
    order: tuple[int, ...] | None = None
    for member in sweep.stages:
        for write, combiner in zip(member.writes, member.combiners, strict=True):
            for read in stage.reads:
                if read.memory is not write.memory:
                    continue
                if combiner != "store":
                    return None
                matched = match_order(sweep.order[member], write, read)
                if matched is None or (order is not None and order != matched):
                    return None
                order = matched
    if order is None:
        order = stage.inner
    if set(order) != set(stage.inner):
        return None
    return order if tuple(stage.extents[d] for d in order) == sweep.extents else None


def followed_dims(sweep: Sweep, stage: Stage) -> dict[int, int] | None:
    """The stage's dims by those that the sweep's reduction keeps, if it can be computed of each
    vector of totals; None if not.

    Tiles may compute some totals twice: of those, what the stage writes must not be what it reads.
    """
    first, *others = sweep.stages
    kept = tuple(sweep.order[first][place] for place in sweep.kept)
    if others or not kept or "store" in first.combiners or not stage.is_pointwise or stage.totals:
        return None
    if stage.op.sources or len(stage.inner) != len(kept) or not _is_apart(stage):
        return None
    orders = {first: kept} | {
        s: tuple(dims[d] for d in kept) for s, dims in sweep.followers.items()
    }
    found: tuple[int, ...] | None = None
    for member, order in orders.items():
        for write in member.writes:
            for read in stage.reads:
                if read.memory is not write.memory:
                    continue
                matched = match_order(order, write, read)
                if matched is None or found not in (None, matched):
                    return None
                found = matched
    if found is None or set(found) != set(stage.inner):
        return None
    dims = dict(zip(kept, found, strict=True))
    alike = all(first.extents[d] == stage.extents[own] for d, own in dims.items())
    return dims if alike else None


def _is_apart(stage: Stage) -> bool:
    """Whether nothing that the stage reads can be memory that it writes, element by element."""
    wide = {d for d in (*stage.rows, *stage.inner) if stage.extents[d] > 1}
    if all(is_temporary(write.memory) for write in stage.writes):
        return True
    whole = [r for r in stage.reads if wide <= {d for f in r.axes for d, _ in f.terms}]
    return all(is_temporary(read.memory) for read in whole)


def _reads_source_of(sweep: Sweep, stage: Stage) -> bool:
    made = {w.memory for member in sweep.stages for w in member.writes}
    return any(source in made for source in stage.op.sources)


def match_order(order: tuple[int, ...], write: Access, read: Access) -> tuple[int, ...] | None:
    """The reader's dims in the writer's order, if it reads just what was written there."""
    if read.pad is not None:
        return None
    matched: dict[int, int] = {}
    for written, wanted in zip(write.axes, read.axes, strict=True):
        dim, reader = written.pure_dim, wanted.pure_dim
        if dim in order:
            if reader is None:
                return None
            matched[order.index(dim)] = reader
    if len(matched) != len(order):
        return None
    return tuple(matched[place] for place in range(len(order)))


def columns_stay_apart(stages: Sequence[Stage], columns: dict[Stage, tuple[int, ...]]) -> bool:
    """Whether each stage reads of the ones before it only the column that it is at itself.

    Of some stages it is said which dimensions are columns; of others all loops of a task are.
    """
    for number, stage in enumerate(stages):
        own = columns.setdefault(stage, stage.inner)
        for before in stages[:number]:
            for write in before.writes:
                reads = [r for r in stage.reads if r.memory is write.memory]
                if any(match_order(columns[before], write, r) != own for r in reads):
                    return False
    return True


@record
class Window:
    """Positions of an axis that scratch has room for, from the value of a pseudo-dimension on."""

    axis: int
    size: int
    start: int = FIRST_WINDOW


Windows = Mapping[SSAValue, Window]
"""By the buffer that is kept so."""


def column_windows(stages: Sequence[Stage], columns: int) -> Windows:
    """Windows of so many positions of the first loop of a task, which tasks divide."""
    return {
        write.memory: Window(axis, columns)
        for stage in stages
        for write in stage.writes
        for axis, form in enumerate(write.axes)
        if form.pure_dim == stage.inner[0]
    }


def allocate_scratch(
    emit: Emitter,
    sweeps: Sequence[Sweep],
    memory: Memory,
    outputs: set[SSAValue],
    windows: Windows | None = None,
) -> None:
    """Lay out the scratch of a row (see `lay_out_scratch`), and allocate what is in memory."""
    for write, size in lay_out_scratch(sweeps, memory, outputs, windows):
        scratch = alloca_op(write.element, size)
        memory.flat[write.memory] = emit.add(scratch)


def lay_out_scratch(
    sweeps: Sequence[Sweep],
    memory: Memory,
    outputs: set[SSAValue],
    windows: Windows | None = None,
) -> list[tuple[Access, int]]:
    """Find which temporaries stay in registers; the others get scratch for one row.

    Of those in `windows`, scratch has room for a part. Gives what is to be allocated, with its
    elements.
    """
    readers: dict[SSAValue, list[tuple[Sweep, Stage]]] = {}
    for sweep in sweeps:
        for stage in sweep.members:
            for memref_value in [r.memory for r in stage.reads] + list(stage.op.sources):
                readers.setdefault(memref_value, []).append((sweep, stage))
    found: list[tuple[Access, int]] = []
    placed = {*outputs, *memory.flat}
    for sweep in sweeps:
        for stage in sweep.members:
            for write in stage.writes:
                if write.memory in placed:
                    continue
                needed = bool(stage.totals) or any(
                    not _in_registers(sweep, stage, write, reader_sweep, reader)
                    for reader_sweep, reader in readers.get(write.memory, [])
                )
                size = _row_layout(stage, write, memory, windows or {})
                if needed:
                    found.append((write, size))
                    placed.add(write.memory)
                else:
                    memory.dead.add(write.memory)
    return found


def _in_registers(
    sweep: Sweep, stage: Stage, write: Access, reader_sweep: Sweep, reader: Stage
) -> bool:
    if write.memory in reader.op.sources or reader_sweep.run != sweep.run:
        return False
    if any(read.memory is write.memory and read.pad is not None for read in reader.reads):
        return False  # what lies beyond the edge is decided by position
    if reader_sweep is sweep:
        return True
    kept = {d for form in write.axes for d, _ in form.terms}
    return not kept & set(stage.inner) and (not stage.inner or set(stage.inner) <= stage.reduced)


def _row_layout(stage: Stage, write: Access, memory: Memory, windows: Windows) -> int:
    """Set the strides of what a row keeps; gives its elements."""
    strides: dict[int, int] = {}
    window, step = windows.get(write.memory), 1
    for axis in reversed(range(len(write.axes))):
        dims = {d for d, _ in write.axes[axis].terms}
        if dims & set(stage.inner):
            strides[axis] = step
            if window is not None and window.axis == axis:
                memory.shift[write.memory] = Linear(((window.start, -step),))
                step *= window.size
                continue
            # Joined dims run past the end of their axis, into what the outer axis held.
            step *= max(write.shape[axis], write.axes[axis].range(stage.extents)[1] + 1)
    memory.scratch[write.memory] = strides
    return step


def outputs_of(stages: Sequence[Stage]) -> set[SSAValue]:
    """Memrefs that the stages write and the caller sees."""
    return {w.memory for stage in stages for w in stage.writes if not is_temporary(w.memory)}


def flat_arguments(stages: Sequence[Stage]) -> dict[SSAValue, SSAValue]:
    """The memory that stages touch and the kernel does not make: each stands for itself."""
    touched = [a.memory for stage in stages for a in stage.accesses()]
    touched += [source for stage in stages for source in stage.op.sources]
    return {m: m for m in touched if isinstance(m.type, MemRefType) and not is_temporary(m)}


def keeps_columns_apart(stage: Stage, column: int, outputs: set[SSAValue]) -> bool:
    """Whether all that a stage hands on has an axis for the dimension `column` alone."""
    kept = [w for w in stage.writes if w.memory not in outputs]
    return all(any(form.pure_dim == column for form in w.axes) for w in kept)
