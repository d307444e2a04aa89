"""Which results of a kernel may be written over one of its inputs.

The proof is from index maps: every read of the input stands in the one nest that writes the result,
at the very element that this point of the domain writes. Then no point needs what another point has
overwritten, in whatever order and on whatever thread points are computed. It takes that a schedule
computes each point of such a nest once; products compute the rows of a last tile twice, so kernels
with products are left out. What other nests of the kernel read of the result is the new value.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import is_contraction
from lamina.dialects.op_list import instances_under


def in_place_pairs(kernel: func.FuncOp) -> list[tuple[int, int]]:
    """(input, result) argument numbers of a bufferized kernel that may share memory.

    Each pair holds on its own; the caller takes an input for one result only.
    """
    nests = instances_under(kernel, GenericOp)
    if any(is_contraction(nest) for nest in nests):
        return []
    arguments = list(kernel.body.block.args)
    pairs: list[tuple[int, int]] = []
    for target, out in enumerate(arguments):
        nest = _only_writer(out)
        if nest is None:
            continue
        pairs += [
            (source, target)
            for source, value in enumerate(arguments)
            if value is not out and _read_in_place(nest, value, out)
        ]
    return pairs


def _only_writer(value: SSAValue) -> GenericOp | None:
    """The nest that stores all of a memref, where others of its kernel read that at most, and at
    places that are dimensions alone: what a window reads may be made twice, for two blocks."""
    writers: list[GenericOp] = []
    for use in value.uses:
        nest = use.operation
        if not isinstance(nest, GenericOp) or any(value is source for source in nest.sources):
            return None
        stores = [name for name, out in _written(nest) if out is value]
        if stores not in ([], ["store"]):
            return None
        if not stores and not all(map(_is_plain, _maps_of(nest, value))):
            return None
        writers += [nest] * len(stores)
    if len(writers) != 1 or _maps_of(writers[0], value):
        return None
    return writers[0]


def _written(nest: GenericOp) -> Iterator[tuple[str, SSAValue]]:
    return zip(nest.combiner_names, nest.outs, strict=True)


def _maps_of(nest: GenericOp, value: SSAValue) -> list[AffineMap]:
    """The maps by which a nest reads a memref."""
    reads = zip(nest.inputs, nest.read_maps, strict=True)
    return [index_map for read, index_map in reads if read is value]


def _is_plain(index_map: AffineMap) -> bool:
    return all(isinstance(e, AffineDimExpr | AffineConstantExpr) for e in index_map.results)


def _read_in_place(nest: GenericOp, value: SSAValue, out: SSAValue) -> bool:
    if not isinstance(value.type, MemRefType) or value.type != out.type:
        return False
    if not value.uses or any(use.operation is not nest for use in value.uses):
        return False
    if any(value is other for other in (*nest.sources, *nest.outs)):
        return False
    number = next(i for i, other in enumerate(nest.outs) if other is out)
    write = nest.write_maps[number]
    return all(
        index_map == write and pad is None
        for read, index_map, pad in zip(nest.inputs, nest.read_maps, nest.pad_values, strict=True)
        if read is value
    )
