"""`rfactor`: the clause `rfactor` of nests in tasks as a nest of partial results and one for all.

A reduced dimension becomes two: parts, far apart, and positions in each. The first nest reduces
each part into a buffer that the task keeps, the second one the parts. Vectors of the reduction go
along the positions in a part, as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import Forms, map_of, substitute
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.labels import names_of, set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.monoid import Monoid, join_body
from lamina.dialects.loop.packing import is_packed
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.loop.split_dim import replace_positions
from lamina.passes.schedule.illegal import dim_names, illegal
from lamina.passes.schedule.nest_steps import (
    kernel_buffer,
    linear_forms,
    nests_to_change,
    put_beside,
    put_in_front,
    set_schedule,
)
from lamina.passes.schedule.stages import schedule_of


class RfactorPass(KernelPass):
    """Split the reductions of nests that have the clause `rfactor`."""

    name = "rfactor"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        rfactor(kernel)


def rfactor(function: func.FuncOp) -> None:
    """Split reductions of a kernel in place. Raises InputError for a split that is not legal."""
    for nest in nests_to_change(function, _has_rfactor):
        by = schedule_of(nest).rfactor
        assert by is not None  # as asked for
        _verify(nest, by)
        _split(function, nest, by)


def _has_rfactor(nest: GenericOp) -> bool:
    return schedule_of(nest).rfactor is not None and not is_packed(nest)


def _verify(nest: GenericOp, by: By) -> None:
    reduced = [d for d in nest.reduction_dims if nest.extents[d] > 1 and d not in rows_of(nest)]
    if by.dim not in reduced or nest.is_pointwise or summed_rows(nest):
        legal = dim_names(reduced)
        raise illegal(nest, f"rfactor = d{by.dim}: dimensions that are reduced: {legal}")
    if any(name == "store" for name in nest.combiner_names):
        raise illegal(nest, "rfactor: a result is stored at each point")
    if nest.extents[by.dim] % by.count:
        raise illegal(nest, f"rfactor: {by.count} parts of the {nest.extents[by.dim]} of d{by.dim}")
    if any(by.dim in entry.dims for entry in nest.slices):
        raise illegal(nest, f"rfactor = d{by.dim}: it is sliced already")


def _split(function: func.FuncOp, nest: GenericOp, by: By) -> None:
    """Put the two nests in the place of one."""
    rank, extents = len(nest.extents), nest.extents
    kept = [d for d in range(rank) if d not in nest.reduction_dims]
    length = extents[by.dim] // by.count
    place = [Linear.dim(d) for d in range(rank)]
    place[by.dim] = Linear.of({by.dim: 1, rank: length})
    domain = [*extents, by.count]
    domain[by.dim] = length
    partial = AffineMap(rank + 1, 0, tuple(AffineExpr.dimension(d) for d in [*kept, rank]))
    buffers = [
        kernel_buffer(
            function,
            out.type.element_type,  # pyright: ignore[reportAttributeAccessIssue]
            [*(extents[d] for d in kept), by.count],
        )
        for out in nest.outs
    ]
    body, monoids = nest.body, nest.monoids
    nest.detach_region(body)
    first = GenericOp(
        domain,
        list(nest.inputs),
        [map_of(_moved(linear_forms(nest, m, "rfactor"), place), rank + 1) for m in nest.read_maps],
        [partial] * len(buffers),
        nest.combiner_names,
        [],
        body,
        sources=list(nest.sources),
        outs=buffers,
        pads=nest.pad_values,
        monoids=monoids,
    )
    first.attributes.update(nest.attributes)
    replace_positions(first, place)
    set_schedule(first, replace(schedule_of(nest), rfactor=None))
    first.slice_at(nest.slices, nest.symbols, nest.steps)
    put_in_front(first, nest)
    put_beside(_joining(nest, monoids, buffers, kept, by.count), nest, kept)
    nest.detach()
    nest.add_region(Region(Block()))
    nest.erase()


def _joining(
    nest: GenericOp,
    monoids: Sequence[Monoid],
    buffers: list[SSAValue],
    kept: list[int],
    parts: int,
) -> GenericOp:
    """The nest that reduces the parts: over the kept dimensions, then the parts."""
    place = [Linear(())] * len(nest.extents)
    for number, dim in enumerate(kept):
        place[dim] = Linear.dim(number)
    rank = len(kept) + 1
    kinds = [buffer.type.element_type for buffer in buffers]  # pyright: ignore
    everywhere = AffineMap.identity(rank)
    joining = GenericOp(
        [*(nest.extents[d] for d in kept), parts],
        buffers,
        [everywhere] * len(buffers),
        [map_of(_moved(linear_forms(nest, m, "rfactor"), place), rank) for m in nest.write_maps],
        nest.combiner_names,
        [],
        join_body(kinds),
        outs=list(nest.outs),
        monoids=monoids,
    )
    set_names(joining, names_of(nest))
    return joining


def _moved(forms: Forms, place: list[Linear]) -> Forms:
    return tuple(substitute(form, place) for form in forms)
