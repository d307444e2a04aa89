"""Gathers. An index outside its dimension is an error when the program runs."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.pointwise import broadcast_all
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, normalized, rank_of, shape_of


@lowers("embedding")
def embedding(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Rows of the weight."""
    return b("take", op.arg("weight"), op.arg("indices"), 0)


@lowers("index_select")
def index_select(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Entries along one dimension."""
    x, index = op.arg("self"), op.arg("index")
    if rank_of(x) == 0:
        return x
    index = b.reshape(index, [prod(shape_of(index))])
    return b("take", x, index, normalized(op.arg("dim"), rank_of(x)))


@lowers("gather")
def gather(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.gather, the other dimensions cut to the index's extents."""
    x, index = op.arg("self"), op.arg("index")
    if rank_of(x) == 0 or rank_of(index) == 0:
        flat = b("take", b.reshape(x, [prod(shape_of(x))]), b.reshape(index, [1]), 0)
        return b.reshape(flat, shape_of(op.results[0]))
    dim = normalized(op.arg("dim"), rank_of(x))
    for other, extent in enumerate(shape_of(index)):
        if other != dim:
            x = b.slice(x, other, 0, extent)
    return b("gather", x, index, dim)


def wrapped(b: PrimsBuilder, index: SSAValue, extent: int) -> SSAValue:
    """Negative indices counted from the end."""
    element = element_of(index)
    if not isinstance(element, IntegerType) or is_bool(element):
        raise b.refuse("boolean masks as indices (the shape depends on the data)", "torch.where")
    index = b.convert(index, i64)
    negative = b.with_number("lt", index, 0)
    return b.where(negative, b.with_number("add", index, extent), index)


@lowers("index.Tensor")
def index(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The indexed dimensions side by side and flattened, then one take.

    If a slice stands between index tensors, the indexed dimensions go to the front.
    """
    x, indices = op.arg("self"), op.arg("indices")
    indices = indices + [None] * (rank_of(x) - len(indices))
    dims = [d for d, given in enumerate(indices) if given is not None]
    if not dims or any(is_bool(element_of(indices[d])) for d in dims):
        raise b.refuse("boolean masks as indices (the shape depends on the data)", "torch.where")
    if any(element_of(indices[d]).width.data == 8 for d in dims):  # pyright: ignore
        raise b.refuse("ui8 masks as indices (the shape depends on the data)", "i64 indices")
    first = dims[0]
    if dims != list(range(first, first + len(dims))):
        rest = [d for d in range(rank_of(x)) if d not in dims]
        x = b.transpose(x, [*dims, *rest])
        indices, first = [indices[d] for d in dims] + [None] * len(rest), 0
        dims = list(range(len(dims)))
    shape = shape_of(x)
    extents = [shape[d] for d in dims]
    parts = [wrapped(b, indices[d], shape[d]) for d in dims]
    place = _flattened(b, broadcast_all(b, parts), extents)
    flat = b.reshape(x, [*shape[:first], prod(extents), *shape[first + len(dims) :]])
    return b("take", flat, place, first)


def _flattened(b: PrimsBuilder, indices: list[SSAValue], extents: list[int]) -> SSAValue:
    """One row-major index from one for each dimension."""
    place: SSAValue = indices[0]
    for following, extent in zip(indices[1:], extents[1:], strict=True):
        place = b("add", b.with_number("mul", place, extent), following)
    return place
