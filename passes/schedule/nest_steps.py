"""What passes that carry out one clause of nests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import func, memref
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import Forms, forms_of
from lamina.dialects.loop.bounds import BOUNDS, STREAM
from lamina.dialects.loop.counted_dims import drop_ends
from lamina.dialects.loop.kernel_nests import (
    live_rows_of,
    part_of,
    rows_of,
    set_live_rows,
    set_part,
    set_rows,
)
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import SCHEDULE, NestSchedule, ScheduleAttr
from lamina.dialects.loop.slices import Slice
from lamina.dialects.op_list import ops_of
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.stages import schedule_of

STEPS = ("cache_read", "rfactor", "jam", "tile", "compute_at")
"""Clauses that a pass carries out on nests in tasks."""


def nests_in_tasks(function: func.FuncOp, wanted: Callable[[GenericOp], bool]) -> list[GenericOp]:
    """The nests of a kernel, in order, whose schedule is one that is wanted.

    Raises InputError for such a nest whose rows are not divided into tasks yet.
    """
    found: list[GenericOp] = []
    nests = ops_of(function, GenericOp)
    for nest in nests:
        if 0 in nest.extents:
            continue
        if wanted(nest):
            if rows_of(nest) and not nest.symbols:
                _verify_no_products(nest, nests)
                raise illegal(nest, "its rows are not in tasks yet: run parallelize first")
            found.append(nest)
    return found


def nests_to_change(function: func.FuncOp, wanted: Callable[[GenericOp], bool]) -> list[GenericOp]:
    """As `nests_in_tasks`, for nests that become others: no loop of the kernel ends at a number of
    the call then, as these would have to end alike."""
    found = nests_in_tasks(function, wanted)
    if found:
        drop_ends(ops_of(function, GenericOp))
    return found


def _verify_no_products(nest: GenericOp, nests: Sequence[GenericOp]) -> None:
    """Raises InputError where the tasks of a nest are those of a packed product."""
    if any(is_packed(other) and part_of(other) == part_of(nest) for other in nests):
        said = ", ".join(name for name in STEPS if name in schedule_of(nest).texts())
        raise illegal(nest, f"{said}: not beside packed products, whose tasks are blocks of rows")


def set_schedule(nest: GenericOp, schedule: NestSchedule) -> None:
    """Note how a nest's loops run; nothing if nothing is left to say."""
    if schedule == NestSchedule():
        nest.attributes.pop(SCHEDULE, None)
    else:
        nest.attributes[SCHEDULE] = ScheduleAttr(schedule)


def followers(nest: GenericOp) -> list[GenericOp]:
    """The nests behind it that share its loops."""
    found: list[GenericOp] = []
    following = nest.next_op
    while isinstance(following, GenericOp) and schedule_of(following).compute_with:
        found.append(following)
        following = following.next_op
    return found


def kernel_buffer(kernel: func.FuncOp, element: Attribute, shape: Sequence[int]) -> SSAValue:
    """A new buffer of a kernel, of which each task keeps its part."""
    made = memref.AllocOp.get(element, ALIGNMENT, list(shape))
    first = kernel.body.block.first_op
    assert first is not None  # a nest, or the loop that it is in
    kernel.body.block.insert_op_before(made, first)
    return made.memref


def put_beside(made: GenericOp, nest: GenericOp, dims: Sequence[int]) -> None:
    """Put a nest in front of another, in its part; its dimensions are `dims` of that one.

    It runs what those slices of the other leave that are of its dimensions.
    """
    if rows_of(nest):
        set_rows(made, [dims.index(d) for d in rows_of(nest)])
        set_live_rows(made, live_rows_of(nest))
    set_part(made, part_of(nest))
    bound = [
        (replace(entry, dims=tuple(dims.index(d) for d in entry.dims)), symbol)
        for entry, symbol in zip(nest.slices, nest.symbols, strict=True)
        if set(entry.dims) <= set(dims)
    ]
    if nest.steps:
        raise illegal(nest, "slices: rows that are computed steps apart are reduced as they stand")
    made.slice_at([entry for entry, _ in bound], [symbol for _, symbol in bound])
    put_in_front(made, nest)


def put_in_front(made: GenericOp, nest: GenericOp) -> None:
    """Put a nest in front of the one that it is made of."""
    block = nest.parent
    assert block is not None  # nests stand in kernels
    made.location = nest.location
    block.insert_op_before(made, nest)


def linear_forms(nest: GenericOp, index_map: AffineMap, clause: str) -> Forms:
    """The indices of an access. Raises InputError, naming the clause, for those not linear."""
    forms = forms_of(index_map, nest.extents)
    if forms is None:
        raise illegal(nest, f"{clause}: {index_map} is not linear")
    return forms


def run_slice(nest: GenericOp, dim: int, start: SSAValue, size: int, clause: str) -> None:
    """Run a slice of a loop that was walked whole; those walked with it as one stay so.

    Raises InputError, naming the clause, where a part of it is walked already.
    """
    slices, symbols = list(nest.slices), list(nest.symbols)
    place = next((n for n, entry in enumerate(slices) if entry.dims[-1] == dim), None)
    if place is None:
        nest.slice_at([*slices, Slice((dim,), size)], [*symbols, start], nest.steps)
        return
    if not slices[place].is_whole(nest.extents):
        raise illegal(nest, f"{clause}: its tasks have parts of it")
    slices[place], symbols[place] = Slice(slices[place].dims, size), start
    nest.slice_at(slices, symbols, nest.steps)


def verify_alone(nest: GenericOp, clause: str) -> None:
    """Raises InputError, naming the clause, for a nest whose points are tied to what others do."""
    if schedule_of(nest).compute_with or followers(nest):
        raise illegal(nest, f"{clause}: it shares its loops with another nest")
    if BOUNDS in nest.attributes or STREAM in nest.attributes:
        raise illegal(nest, f"{clause}: the nest has bounds, or is walked in blocks")
    if set(nest.outs) & {*nest.inputs, *nest.sources}:
        raise illegal(nest, f"{clause}: the nest reads what it writes")


def has_tile(nest: GenericOp) -> bool:
    """Whether a nest has a tile that `tile-nests` makes loops of."""
    schedule = schedule_of(nest)
    if schedule.transpose is not None or schedule.rfactor is not None or schedule.online:
        return False
    return schedule.tile is not None and not is_packed(nest)


def has_cached_reads(nest: GenericOp) -> bool:
    """Whether a nest has reads that `cache-read` copies."""
    return schedule_of(nest).cache_read is not None and not is_packed(nest)


def has_compute_at(nest: GenericOp) -> bool:
    """Whether a nest is to be computed in a loop of the nest that reads it."""
    return schedule_of(nest).compute_at is not None


def has_step(nest: GenericOp) -> bool:
    """Whether `apply-schedule` runs a pass for a clause of the nest."""
    return has_cached_reads(nest) or has_tile(nest) or has_compute_at(nest)
