"""`cache-read`: the clause `cache_read` of nests in tasks as a nest that copies in front of them.

The copy has the dimensions that the read depends on, and the kernel's rows; it runs the same
slices. What it makes is a buffer of the kernel, of which a task keeps its part. Rows a power of two
apart fall into few sets of a cache; what is read in jumps, or again and again, is then in a row.
Products copy their rows themselves.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import map_of, substitute
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.segments import index_maps, pads_of
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.nest_steps import (
    has_cached_reads,
    kernel_buffer,
    linear_forms,
    nests_to_change,
    put_beside,
    set_schedule,
)
from lamina.passes.schedule.stages import schedule_of


class CacheReadPass(KernelPass):
    """Copy the reads of nests that have the clause `cache_read` first."""

    name = "cache-read"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        cache_reads(kernel)


def cache_reads(function: func.FuncOp) -> None:
    """Copy reads of a kernel's nests in place. Raises InputError for a read that is not there."""
    for nest in nests_to_change(function, has_cached_reads):
        schedule = schedule_of(nest)
        if schedule.compute_with:
            raise illegal(nest, "cache_read: it shares the loops of the nest in front of it")
        for number in schedule.cache_read or ():
            if not 0 <= number < len(nest.inputs):
                raise illegal(nest, f"cache_read: it has {len(nest.inputs)} reads, no {number}")
            _copy(function, nest, number)
        set_schedule(nest, replace(schedule, cache_read=None))


def _copy(function: func.FuncOp, nest: GenericOp, number: int) -> None:
    """Put a copy of a read in front of the nest, which reads it instead."""
    value, index_map, pad = nest.reads[number]
    kind, forms = value.type, linear_forms(nest, index_map, "cache_read")
    assert isinstance(kind, MemRefType)
    rows = rows_of(nest)
    joined = {d for entry in nest.slices if len(entry.dims) > 1 for d in entry.dims}
    dims = [d for d in range(len(nest.extents)) if d in rows or d in index_map.used_dims()]
    dims = sorted({*dims, *(joined if joined & set(dims) else ())})
    place = [Linear(())] * len(nest.extents)
    for at, dim in enumerate(dims):
        place[dim] = Linear.dim(at)
    extents = [nest.extents[d] for d in dims]
    buffer = kernel_buffer(function, kind.element_type, extents)
    block = Block(arg_types=[kind.element_type])
    block.add_op(YieldOp([block.args[0]]))
    copy = GenericOp(
        extents,
        [value],
        [map_of([substitute(form, place) for form in forms], len(dims))],
        [AffineMap.identity(len(dims))],
        ["store"],
        [],
        Region(block),
        outs=[buffer],
        pads=[pad],
    )
    put_beside(copy, nest, dims)
    maps, pads = list(nest.read_maps), list(nest.pad_values)
    maps[number] = AffineMap(len(nest.extents), 0, tuple(AffineExpr.dimension(d) for d in dims))
    pads[number] = None
    nest.operands[number] = buffer
    nest.properties["input_maps"] = index_maps(*maps)
    nest.properties["pads"] = pads_of(pads)
