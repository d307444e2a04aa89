"""Gathers. An index outside its dimension is an error when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from lamina.dialects.records import record
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
    if prod(shape_of(index)) == 0:
        # An index without elements may have any rank.
        return b.full(shape_of(op.results[0]), 0, element_of(x))
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


@record
class Located:
    """Indexed dimensions side by side and flattened into one."""

    flat: SSAValue
    place: SSAValue
    dim: int
    order: list[int] | None
    shape: list[int]
    """The shape before flattening, after the permutation `order`."""

    def restored(self, b: PrimsBuilder, flat: SSAValue) -> SSAValue:
        """What has the flat shape, in the original one."""
        x = b.reshape(flat, self.shape)
        if self.order is None:
            return x
        return b.transpose(x, [self.order.index(d) for d in range(len(self.order))])


def located(b: PrimsBuilder, x: SSAValue, given: Sequence[SSAValue | None]) -> Located:
    """One index into one dimension from several.

    If a slice stands between index tensors, the indexed dimensions go to the front.
    """
    indices = [*given, *[None] * (rank_of(x) - len(given))]
    for index in indices:
        if index is not None and str(element_of(index)) in ("i1", "ui8"):
            raise b.refuse("masks as indices (the shape depends on the data)", "torch.where")
    dims = [d for d, index in enumerate(indices) if index is not None]
    if not dims:
        raise b.refuse("no index at all", "the tensor itself")
    first, order = dims[0], None
    if dims != list(range(first, first + len(dims))):
        order = [*dims, *(d for d in range(rank_of(x)) if d not in dims)]
        x, first = b.transpose(x, order), 0
    shape = shape_of(x)
    tensors = [index for index in indices if index is not None]
    extents = shape[first : first + len(dims)]
    parts = [wrapped(b, index, n) for index, n in zip(tensors, extents, strict=True)]
    place = _flattened(b, broadcast_all(b, parts), extents)
    flat = b.reshape(x, [*shape[:first], prod(extents), *shape[first + len(dims) :]])
    return Located(flat, place, first, order, shape)


@lowers("index.Tensor")
def index(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One take."""
    at = located(b, op.arg("self"), op.arg("indices"))
    return b("take", at.flat, at.place, at.dim)


def _flattened(b: PrimsBuilder, indices: list[SSAValue], extents: list[int]) -> SSAValue:
    """One row-major index from one for each dimension; outside if any of them is."""
    place: SSAValue = indices[0]
    if len(indices) == 1:
        return place
    inside = within(b, place, extents[0])
    for following, extent in zip(indices[1:], extents[1:], strict=True):
        place = b("add", b.with_number("mul", place, extent), following)
        inside = b("bitwise_and", inside, within(b, following, extent))
    return b.where(inside, place, b.full(shape_of(place), -1, i64))


def within(b: PrimsBuilder, index: SSAValue, extent: int) -> SSAValue:
    """Whether an index is at least 0 and below the extent."""
    low, high = b.with_number("ge", index, 0), b.with_number("lt", index, extent)
    return b("bitwise_and", low, high)
