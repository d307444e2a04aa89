"""Rolls: elements move by so many places, and come back at the front of those that count."""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, quotient
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import normalized, normalized_dims


@bounds("roll")
def roll(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Along dimensions with padding, and by numbers known at run time, a read by places."""
    tensor, dims, shifts = b.tensor(op.arg("self")), op.arg("dims"), op.arg("shifts")
    if not dims:
        if tensor.rank != 1:
            raise b.refuse("goes through all elements, whose number depends on data")
        dims = [0]
    for dim, shift in zip(dims, shifts, strict=True):
        tensor = _rolled(tensor, normalized(dim, tensor.rank), b.number(shift), b)
    return tensor


@bounds("fft_fftshift", "fft_ifftshift")
def shifted(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Rolls by half of what counts, rounded down, or back by as much."""
    tensor, dims = b.tensor(op.arg("self")), op.arg("dim")
    sign = 1 if op.overload_name.startswith("fft_fftshift") else -1
    for dim in range(tensor.rank) if dims is None else normalized_dims(dims, tensor.rank):
        half = affine(quotient(b.size(tensor, dim), 0, 2, b), sign, 0, b)
        tensor = _rolled(tensor, dim, half, b)
    return tensor


def _rolled(tensor: Bounded, dim: int, shift: Number, b: BoundBuilder) -> Bounded:
    count = tensor.sizes[dim]
    if count is None and (shift.constant is not None or not tensor.shape[dim]):
        by = shift.constant or 0
        return Bounded(b("roll.default", tensor.value, [by], [dim]), tensor.sizes)
    places = b.iota(tensor.shape[dim])
    if shift.constant is not None:
        places = b("sub.Scalar", places, shift.constant)
    else:
        places = b("sub.Tensor", places, b.as_tensor(shift))
    if count is None:
        places = b("remainder.Scalar", places, tensor.shape[dim])
    else:
        places = b("remainder.Tensor", places, b("clamp_min.default", count, 1))
    return Bounded(b("index_select.default", tensor.value, dim, places), tensor.sizes)
