"""What a kernel can touch whose extents in memory are numbers of the call (`lamina.extents`).

Nests in tasks of rows and in tiles of products, and scatters, compute addresses from strides of the
call, if vectors run along what is contiguous; others read and write by the strides of types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial

from xdsl.dialects import func
from xdsl.ir import SSAValue

from lamina.dialects.loop import ScatterOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.schedules import NestSchedule, ProductTasksAttr, RowTasksAttr
from lamina.passes.contracts.argument_numbers import EXTENTS
from lamina.passes.schedule.call_extents import integers, limits_of, note_on_arguments, open_axes
from lamina.passes.schedule.compact_products import product_accesses
from lamina.passes.schedule.guarded_reads import VECTOR_CLAUSES
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.live_rows import kept_digits
from lamina.passes.schedule.stages import Access, Stage, collapse_rows, stages_of, take_inner

Extents = tuple[int, ...]
"""For each dimension of an argument the argument that is its extent in memory, or -1."""

_CLAUSES = VECTOR_CLAUSES | {
    "compute_at",
    "compute_with",
    "unroll_dims",
    "jam",
    "rfactor",
    "tile",
    "transpose",
    "online",
    "prefetch_writes",
}
"""What the schedule of a nest may say whose accesses go by strides of the call."""


def refused(
    kernel: func.FuncOp, extents: Mapping[int, Extents], buffers: Collection[int] = ()
) -> frozenset[int]:
    """Those arguments of a kernel that it cannot touch by strides of the call.

    Some are `buffers` of the program: there is memory wherever their type has it, so that a pad may
    begin where that ends.
    """
    arguments = kernel.body.block.args
    before = kernel.properties.get("arg_attrs")
    joined = [_joined(part.stages) for part in parts_of(kernel)]
    note_extents(kernel, extents)
    free = {arguments[place] for place in buffers}
    strided = partial(_strided, free=free)
    parts = parts_of(kernel)
    allowed: dict[SSAValue, bool] = {arguments[place]: True for place in extents}
    scatters = [part.op for part in parts if isinstance(part.op, ScatterOp)]
    for op in scatters:
        for value in _out_of_reach(op, {arguments[n]: e for n, e in extents.items()}):
            allowed[value] = False
    for part, tasks, rows in zip(parts, schedules_of(kernel, parts), joined, strict=True):
        if part.kind is ProductTasksAttr:
            for value in _packed(part.stages):
                allowed[value] = False
            for access, fits in product_accesses(part, tasks, strided):
                allowed[access.memory] &= fits
            continue
        if part.kind is not RowTasksAttr:
            continue
        stages = stages_of([stage.op for stage in part.stages])
        collapse_rows(stages)
        fits = tasks.jam is None and (tasks.inner is None or rows == len(stages[0].rows))
        if fits:
            take_inner(stages, tasks.inner or ())
        for stage in stages:
            for access in stage.accesses():
                if access.open_axes:
                    allowed[access.memory] &= fits and strided(stage)
            for _, source in stage.sources:
                if source in allowed:
                    allowed[source] &= fits and _looks_up(stage)
    for value in allowed:
        users = [use.operation for use in value.uses]
        in_rows = {
            s.op for p in parts if p.kind in (RowTasksAttr, ProductTasksAttr) for s in p.stages
        }
        for user in users:
            looks_up = isinstance(user, ScatterOp) and value in user.sources
            allowed[value] &= user in in_rows or (user in scatters and not looks_up)
    if before is None:
        kernel.properties.pop("arg_attrs", None)
    else:
        kernel.properties["arg_attrs"] = before
    return frozenset(place for place in extents if not allowed[arguments[place]])


def _out_of_reach(op: ScatterOp, extents: Mapping[SSAValue, Extents]) -> Iterator[SSAValue]:
    """Arguments that a scatter cannot touch by strides of the call: what it copies and writes ends
    where what it keeps does, and it reads along its last dimension."""
    kept = tuple(-1 if d is None or d.count is None else d.count for d in kept_digits(op))
    yield from (value for value in (op.into, *op.outs) if extents.get(value, kept) != kept)
    for value, index_map in zip(op.inputs, op.read_maps, strict=True):
        if value not in extents:
            continue
        forms, last = forms_of(index_map, op.extents), len(op.extents) - 1
        axes = open_axes(extents[value])
        if forms is None or any(forms[axis].coefficient(last) for axis in axes):
            yield value


def _packed(stages: Sequence[Stage]) -> Iterator[SSAValue]:
    """Panels that products read by the layout of their type."""
    for stage in stages:
        yield from (access.memory for access in stage.reads if not access.axes)


def _joined(stages: Sequence[Stage]) -> int:
    """How many rows are left of a part where those are one that every access walks as one."""
    if not stages:
        return 0
    copies = stages_of([stage.op for stage in stages])
    collapse_rows(copies)
    return len(copies[0].rows)


def _is_plain(stage: Stage) -> bool:
    """Whether code of a nest's schedule asks for the strides of what it touches."""
    said = {f.name for f in fields(NestSchedule) if getattr(stage.schedule, f.name) is not None}
    return not stage.totals and not said - _CLAUSES


def _looks_up(stage: Stage) -> bool:
    """Whether a nest looks up by strides of the call: places are computed, in vectors if they
    differ from lane to lane."""
    return _is_plain(stage) and stage.schedule.transpose is None


def _strided(stage: Stage, free: Collection[SSAValue]) -> bool:
    """Whether a nest, whose loops of a task are its inner ones, reaches its arguments by strides of
    the call: vectors do not run along one."""
    if not _is_plain(stage):
        return False
    if stage.schedule.compute_with:
        across = stage.inner
    elif stage.schedule.vectorize is not None:
        across = (stage.schedule.vectorize.dim,)
        if stage.schedule.jam is not None and across[0] in stage.reduced:
            across = (*across, stage.schedule.jam.dim)  # columns, in the lanes of vectors
    else:
        across = (stage.schedule.order or stage.inner)[-1:]
    turned = stage.schedule.transpose
    return all(
        (access.pad is None or access.memory in free or _ends_with_the_call(access))
        and (
            not access.walks_open_axis(*across)
            or (
                turned is not None
                and access.stride(turned) == 1
                and not stage.schedule.compute_with
            )
        )
        for access in stage.accesses()
        if access.open_axes
    )


def _ends_with_the_call(access: Access) -> bool:
    """Whether a padded read gives its pad from the numbers on that are extents."""
    extents, limits = access.extents or (), limits_of(access.memory)
    return limits is not None and all(
        extent in (-1, end) for extent, end in zip(extents, limits, strict=True)
    )


def note_extents(function: func.FuncOp, extents: Mapping[int, Extents]) -> None:
    """Note what extents arguments have in memory; those without are as their types say."""
    note_on_arguments(function, EXTENTS, {n: integers(own) for n, own in extents.items()})
