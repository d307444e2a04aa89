"""Gradients of pooling, and max_unpool: values go back to where they came from."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.pooling import adaptive_mask, each, window_counts
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.core_aten_to_prims.transposed_convolution import spread
from lamina.lowering.tensor_types import element_of, rank_of, shape_of
from lamina.lowering.window_taps import clipped


def into_planes(
    b: PrimsBuilder, values: SSAValue, indices: SSAValue, shape: list[int], dims: int, combiner: str
) -> SSAValue:
    """Values joined to zeros of `shape` at row-major places of its last `dims` dimensions."""
    planes, size = prod(shape[:-dims]), prod(shape[-dims:])
    count = prod(shape_of(values)[-dims:])
    flat = b.full([planes, size], 0, element_of(values))
    places = b.reshape(b.convert(indices, i64), [planes, count])
    made = b("scatter", flat, places, b.reshape(values, [planes, count]), 1, combiner)
    return b.reshape(made, shape)


@lowers("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
@lowers("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
@lowers("fractional_max_pool2d_backward", "fractional_max_pool3d_backward")
def max_pool_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each gradient is added at its window's index."""
    dims = 3 if "pool3d" in op.overload_name else 2
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    shape = shape_of(op.arg("self"))
    return b.convert(into_planes(b, grad, op.arg("indices"), shape, dims, "add"), result)


@lowers("max_unpool2d", "max_unpool3d")
def max_unpool(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each value is stored at its index, zeros elsewhere."""
    dims = 3 if "pool3d" in op.overload_name else 2
    shape = shape_of(op.results[0])
    return into_planes(b, op.arg("self"), op.arg("indices"), shape, dims, "store")


@lowers("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each element sums the shares of the windows that hold it: windows over spread gradients."""
    dims = 3 if "pool3d" in op.overload_name else 2
    x = op.arg("self")
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    kernel = each(op.arg("kernel_size"), dims)
    stride, padding = each(op.arg("stride") or kernel, dims), each(op.arg("padding"), dims)
    divisor = op.arg("divisor_override")
    if divisor is not None:
        grad = b.with_number("div", grad, divisor)
    else:
        counts = window_counts(op, b, x, grad, kernel, stride, padding)
        lead = rank_of(grad) - dims
        wide = b("broadcast_in_dim", counts, shape_of(grad), list(range(lead, lead + dims)))
        grad = b("div", grad, wide)
    extents, ones = shape_of(x)[-dims:], [1] * dims
    out = shape_of(grad)[-dims:]
    kernel, padding = clipped(extents, out, kernel, stride, padding, ones)
    for p in range(dims):
        dim = rank_of(grad) - dims + p
        grad = spread(b, grad, dim, stride[p])
        # Window o covers o * stride - padding ... + kernel - 1; seen from an element, the windows
        # that end at it come first.
        low = kernel[p] - 1 - padding[p]
        high = extents[p] + kernel[p] - 1 - low - shape_of(grad)[dim]
        grad = b.pad(grad, dim, low, high)
    made = b("reduce_window", grad, "add", kernel, ones, [0] * dims, ones, False)
    return b.convert(made, result)


@lowers("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One axis after the other: each element sums the shares of the windows that hold it."""
    dims = 3 if "pool3d" in op.overload_name else 2
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    shape = shape_of(op.arg("self"))
    for dim in range(len(shape) - dims, len(shape)):
        grad = _adaptive_axis_backward(b, grad, dim, shape[dim])
    return b.convert(grad, result)


def _adaptive_axis_backward(b: PrimsBuilder, grad: SSAValue, dim: int, extent: int) -> SSAValue:
    shape, element = shape_of(grad), element_of(grad)
    out = shape[dim]
    if extent == out:
        return grad
    mask, length = adaptive_mask(b, extent, out)
    share = b("div", grad, b.along(b.convert(length, element), shape, dim))
    # The elements stand in front of the windows, which are summed.
    wide = [*shape[:dim], extent, *shape[dim:]]
    kept = [d for d in range(len(wide)) if d != dim]
    spread_out = b("broadcast_in_dim", share, wide, kept)
    inside = b("broadcast_in_dim", b.transpose(mask, [1, 0]), wide, [dim, dim + 1])
    return b("sum", b.where(inside, spread_out, b.full(wide, 0, element)), [dim + 1])
