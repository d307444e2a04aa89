"""`pad-windows`: the border of an image that windows slide over is written once, in front of them.

A padded read tests each element against the edges. Where windows overlap, an element is read many
times; a copy with its border makes all of those reads plain vectors. The copy nest shares rows with
the windows, so that `fuse-kernels` keeps it as scratch of one image, and what made the image is
computed in it, once.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import Forms, forms_of, map_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.passes.cost.fusion_limits import LEAST_READS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import copy_nest


class PadWindowsPass(ModulePass):
    """Give reductions over overlapping padded windows a padded copy of their image."""

    name = "pad-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in block_ops(function.body.block):
                if isinstance(nest, GenericOp) and not is_packed(nest):
                    pad_reads(nest)


def pad_reads(nest: GenericOp) -> None:
    """Gives each padded read of windows a copy to read, in front of the nest."""
    if nest.is_pointwise or 0 in nest.extents:
        return
    reads = nest.reads
    for number, (_, index_map, pad) in enumerate(nest.reads):
        forms = forms_of(index_map, nest.extents)
        if pad is None or forms is None or not are_windows(nest, forms):
            continue
        if not reads_often(nest, forms):
            continue
        copy, read = padded_copy(nest, number, forms, pad)
        block = nest.parent_block()
        assert block is not None
        block.insert_op_before(copy, nest)
        reads[number] = copy.res[0], read, None
    if reads != nest.reads:
        rebuild(nest, reads=reads)


def are_windows(nest: GenericOp, forms: Forms) -> bool:
    """Whether an axis is walked by a kept and a reduced dimension together."""
    reduced = set(nest.reduction_dims)
    wide = [[d for d, _ in form.terms if nest.extents[d] > 1] for form in forms]
    return any(reduced.intersection(dims) and set(dims) - reduced for dims in wide)


def reads_often(nest: GenericOp, forms: Forms) -> bool:
    """Whether the read meets each element between its bounds often enough for a copy."""
    places, between = _places_and_elements(nest, forms)
    return places >= LEAST_READS * between


def reads_again(nest: GenericOp, forms: Forms) -> bool:
    """Whether what stands between the bounds of a read is less than an element for each place."""
    places, between = _places_and_elements(nest, forms)
    return between < places


def _places_and_elements(nest: GenericOp, forms: Forms) -> tuple[int, int]:
    """Points that read another element or place, and elements between the bounds of the read."""
    used = {d for form in forms for d, _ in form.terms}
    between = prod(high - low + 1 for low, high in (f.range(nest.extents) for f in forms))
    return prod(nest.extents[d] for d in used), between


def padded_copy(
    nest: GenericOp, number: int, forms: Forms, pad: Attribute, room: int = 0
) -> tuple[GenericOp, AffineMap]:
    """A copy of all that read `number` reads, border included, and the nest's map into it.

    `room` more elements stand at the end of each line.
    """
    value = nest.inputs[number]
    ends = [form.range(nest.extents) for form in forms]
    shape = [high - low + 1 for low, high in ends]
    shape[-1] += room
    # Kernels align rows by dimension: none for an axis of one element.
    walked = [axis for axis, extent in enumerate(shape) if extent > 1]
    domain = [shape[axis] for axis in walked]
    place = {axis: Linear.dim(dim) for dim, axis in enumerate(walked)}
    written = [place.get(axis, Linear(())) for axis in range(len(shape))]
    source = [at.add(Linear((), low)) for at, (low, _) in zip(written, ends, strict=True)]
    maps = [map_of(indices, len(domain)) for indices in (source, written)]
    copy = copy_nest(nest, "pad", value, maps[0], domain, pad, written=maps[1], shape=shape)
    copy.attributes[MATERIALIZED] = UnitAttr()
    shifted = [form.add(Linear((), -low)) for form, (low, _) in zip(forms, ends, strict=True)]
    return copy, map_of(shifted, len(nest.extents))
