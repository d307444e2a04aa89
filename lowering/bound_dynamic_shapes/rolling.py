"""Rolls: elements move by so many places, and come back at the front of those that count."""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.tensor_types import normalized


@bounds("roll")
def roll(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Along dimensions with padding a read by places."""
    tensor, dims, shifts = b.tensor(op.arg("self")), op.arg("dims"), op.arg("shifts")
    if not dims:
        raise b.refuse("goes through all elements, whose number depends on data")
    for dim, shift in zip(dims, shifts, strict=True):
        tensor = _rolled(tensor, normalized(dim, tensor.rank), b.number(shift).constant, b)
    return tensor


def _rolled(tensor: Bounded, dim: int, shift: int | None, b: BoundBuilder) -> Bounded:
    if shift is None:
        raise b.refuse("by a number of places that depends on data")
    count = tensor.sizes[dim]
    if count is None:
        return Bounded(b("roll.default", tensor.value, [shift], [dim]), tensor.sizes)
    period = b("clamp_min.default", count, 1)
    places = b("sub.Scalar", b.iota(tensor.shape[dim]), shift)
    places = b("remainder.Tensor", places, period)
    return Bounded(b("index_select.default", tensor.value, dim, places), tensor.sizes)
