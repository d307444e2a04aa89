"""Pooling: prims.reduce_window."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, is_float, rank_of, shape_of


def _each(values: list[int] | int, dims: int) -> list[int]:
    listed = [values] if isinstance(values, int) else list(values)
    return listed * dims if len(listed) == 1 else listed


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Largest of each window; the indices are not computed."""
    dims = int(op.overload_name[8])
    if op.results[1].uses:
        raise b.refuse("indices of max pooling", "the values alone (max_pool2d)")
    kernel = _each(op.arg("kernel_size"), dims)
    stride = _each(op.arg("stride") or kernel, dims)
    padding, dilation = (_each(op.arg(name), dims) for name in ("padding", "dilation"))
    x, ceil_mode = op.arg("self"), op.arg("ceil_mode")
    return [b("reduce_window", x, "max", kernel, stride, padding, dilation, ceil_mode), None]


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Sum of each window by the number of elements that torch counts."""
    dims = int(op.overload_name[8])
    kernel = _each(op.arg("kernel_size"), dims)
    stride, padding = _each(op.arg("stride") or kernel, dims), _each(op.arg("padding"), dims)
    result: Attribute = element_of(op.results[0])
    if not is_float(result):
        raise b.refuse("average pooling of integers", "floats")
    x = b.convert(op.arg("self"), accumulation_type(result))
    ones, ceil_mode = [1] * dims, op.arg("ceil_mode")
    total = b("reduce_window", x, "add", kernel, stride, padding, ones, ceil_mode)
    divisor = op.arg("divisor_override") if op.schema.arg("divisor_override") else None
    uniform = not ceil_mode and (op.arg("count_include_pad") or not any(padding))
    if divisor is not None or uniform:
        value = b.with_number("div", total, prod(kernel) if divisor is None else divisor)
        return b.convert(value, result)
    counts = _counts(op, b, x, kernel, stride, padding)
    lead = rank_of(total) - dims
    wide = b("broadcast_in_dim", counts, shape_of(total), list(range(lead, lead + dims)))
    return b.convert(b("div", total, wide), result)


def _counts(
    op: SchemaOp,
    b: PrimsBuilder,
    x: SSAValue,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
) -> SSAValue:
    """How many elements each window has: windows of ones, the border among them if it counts."""
    dims = len(kernel)
    extents = shape_of(x)[-dims:]
    if op.arg("count_include_pad"):
        extents = [extent + 2 * p for extent, p in zip(extents, padding, strict=True)]
        padding = [0] * dims
    ones = b.full(extents, 1, element_of(x))
    count = b(
        "reduce_window", ones, "add", kernel, stride, padding, [1] * dims, op.arg("ceil_mode")
    )
    out = shape_of(op.results[0])[-dims:]
    for dim in range(dims):
        # A last window that starts in the border is torch's to drop; the totals have dropped it.
        count = b.slice(count, dim, 0, out[dim])
    return count


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One axis after the other: the mean of each window, joined."""
    dims = int(op.overload_name.partition(".")[0][-2])
    result = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    for dim in range(rank_of(x) - dims, rank_of(x)):
        x = _adaptive_axis(b, x, dim, shape_of(op.results[0])[dim])
    return b.convert(x, result)


def _adaptive_axis(b: PrimsBuilder, x: SSAValue, dim: int, out: int) -> SSAValue:
    shape = shape_of(x)
    extent = shape[dim]
    if extent == out:
        return x
    pieces: list[SSAValue] = []
    for i in range(out):
        start, end = i * extent // out, -(-(i + 1) * extent // out)
        mean = b.mean(b.slice(x, dim, start, end), [dim])
        pieces.append(b.reshape(mean, [*shape[:dim], 1, *shape[dim + 1 :]]))
    return pieces[0] if out == 1 else b("cat", pieces, dim)
