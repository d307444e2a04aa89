"""Pooling: prims.reduce_window."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


def each(values: list[int] | int, dims: int) -> list[int]:
    """One number for each dimension."""
    listed = [values] if isinstance(values, int) else list(values)
    return listed * dims if len(listed) == 1 else listed


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Largest of each window, and its place."""
    dims = int(op.overload_name[8])
    kernel = each(op.arg("kernel_size"), dims)
    stride = each(op.arg("stride") or kernel, dims)
    padding, dilation = (each(op.arg(name), dims) for name in ("padding", "dilation"))
    x, ceil_mode = op.arg("self"), op.arg("ceil_mode")
    place = None
    if op.results[1].uses:
        place = b("window_index", x, kernel, stride, padding, dilation, ceil_mode)
    return [b("reduce_window", x, "max", kernel, stride, padding, dilation, ceil_mode), place]


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Sum of each window by the number of elements that torch counts."""
    dims = int(op.overload_name[8])
    kernel = each(op.arg("kernel_size"), dims)
    stride, padding = each(op.arg("stride") or kernel, dims), each(op.arg("padding"), dims)
    result: Attribute = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    ones, ceil_mode = [1] * dims, op.arg("ceil_mode")
    total = b("reduce_window", x, "add", kernel, stride, padding, ones, ceil_mode)
    divisor = op.arg("divisor_override") if op.schema.arg("divisor_override") else None
    uniform = not ceil_mode and (op.arg("count_include_pad") or not any(padding))
    if divisor is not None or uniform:
        value = b.with_number("div", total, prod(kernel) if divisor is None else divisor)
        return b.convert(value, result)
    counts = window_counts(op, b, x, total, kernel, stride, padding)
    lead = rank_of(total) - dims
    wide = b("broadcast_in_dim", counts, shape_of(total), list(range(lead, lead + dims)))
    return b.convert(b("div", total, wide), result)


def window_counts(
    op: SchemaOp,
    b: PrimsBuilder,
    x: SSAValue,
    pooled: SSAValue,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
) -> SSAValue:
    """How many elements each window has, the border among them if it counts.

    Along each dimension, window o goes from `o * stride - padding` to `kernel` further, at most to
    the end of the border: as in aten/src/ATen/native/cpu/AvgPoolKernel.cpp.
    """
    dims = len(kernel)
    out = shape_of(pooled)[-dims:]
    counts: SSAValue | None = None
    for p, extent in enumerate(shape_of(x)[-dims:]):
        start = b.with_number("mul", b.iota(out[p], i64), stride[p])
        start = b.with_number("sub", start, padding[p])
        end = b.with_number("minimum", b.with_number("add", start, kernel[p]), extent + padding[p])
        if not op.arg("count_include_pad"):
            start = b.with_number("maximum", start, 0)
            end = b.with_number("minimum", end, extent)
        count = b.along(b("sub", end, start), out, p)
        counts = count if counts is None else b("mul", counts, count)
    assert counts is not None
    return b.convert(counts, element_of(pooled))


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One axis after the other: the mean of each window, joined."""
    dims = int(op.overload_name.partition(".")[0][-2])
    result = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    for dim in range(rank_of(x) - dims, rank_of(x)):
        x = _adaptive_axis(b, x, dim, shape_of(op.results[0])[dim])
    return b.convert(x, result)


def adaptive_mask(b: PrimsBuilder, extent: int, out: int) -> tuple[SSAValue, SSAValue]:
    """Which of `extent` elements each of `out` windows holds, and how many.

    Window o goes from floor(o * extent / out) to ceil((o + 1) * extent / out).
    """
    start, end = adaptive_bounds(b, extent, out)
    shape = [out, extent]
    position = b.along(b.iota(extent, i64), shape, 1)
    behind = b("ge", position, b.along(start, shape, 0))
    mask = b("bitwise_and", behind, b("lt", position, b.along(end, shape, 0)))
    return mask, b("sub", end, start)


def adaptive_bounds(b: PrimsBuilder, extent: int, out: int) -> tuple[SSAValue, SSAValue]:
    """First element of each window, and the one behind its last."""
    numbers = b.with_number("mul", b.iota(out, i64), extent)
    start = b.with_number("div", numbers, out)
    end = b.with_number("div", b.with_number("add", numbers, extent + out - 1), out)
    return start, end


def _masked(
    b: PrimsBuilder, x: SSAValue, dim: int, mask: SSAValue, outside: float
) -> tuple[SSAValue, list[int]]:
    """x with its windows in front of `dim`, and `outside` where a window does not reach."""
    shape = shape_of(x)
    wide = [*shape[:dim], shape_of(mask)[0], *shape[dim:]]
    kept = [d for d in range(len(wide)) if d != dim]
    over = b("broadcast_in_dim", x, wide, kept)
    inside = b("broadcast_in_dim", mask, wide, [dim, dim + 1])
    return b.where(inside, over, b.full(wide, outside, element_of(x))), wide


def _adaptive_axis(b: PrimsBuilder, x: SSAValue, dim: int, out: int) -> SSAValue:
    extent = shape_of(x)[dim]
    if extent == out:
        return x
    mask, length = adaptive_mask(b, extent, out)
    over, _ = _masked(b, x, dim, mask, 0)
    total = b("sum", over, [dim + 1])
    return b("div", total, b.along(b.convert(length, element_of(x)), shape_of(total), dim))


@lowers("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """One axis after the other, the last first: the largest, and the place it came from."""
    dims = int(op.overload_name[17])
    x: SSAValue = op.arg("self")
    shape, out = shape_of(x), shape_of(op.results[0])
    count = prod(shape[-dims:])
    place = b.reshape(b.iota(count, i64), shape[-dims:])
    lead = len(shape) - dims
    place = b("broadcast_in_dim", place, shape, list(range(lead, len(shape))))
    for dim in reversed(range(lead, len(shape))):
        x, place = _largest_along(b, x, place, dim, out[dim])
    return [x, place]


def _largest_along(
    b: PrimsBuilder, x: SSAValue, place: SSAValue, dim: int, out: int
) -> tuple[SSAValue, SSAValue]:
    extent = shape_of(x)[dim]
    mask, _ = adaptive_mask(b, extent, out)
    over, _ = _masked(b, x, dim, mask, float("-inf"))
    best = b("argmax", over, [dim + 1])
    # Where all are -inf, the first that is found may lie in front of the window.
    start, _ = adaptive_bounds(b, extent, out)
    best = b("maximum", best, b.along(start, shape_of(best), dim))
    return b("gather", x, best, dim), b("gather", place, best, dim)


def fractional_starts(
    b: PrimsBuilder, samples: SSAValue, extent: int, kernel: int, out: int
) -> SSAValue:
    """First element of each window, for each sample; as in Graham, Fractional Max-Pooling."""
    element, shape = element_of(samples), [*shape_of(samples), out]
    last = len(shape) - 1
    if out == 1:
        return b.full(shape, extent - kernel, i64)
    step = (extent - kernel) / (out - 1)
    sample = b("broadcast_in_dim", samples, shape, list(range(last)))
    number = b.along(b.convert(b.iota(out, i64), element), shape, last)
    place = b.convert(b.with_number("mul", b("add", number, sample), step), i64)
    first = b.convert(b.with_number("mul", sample, step), i64)
    at_end = b.along(b.with_number("eq", b.iota(out, i64), out - 1), shape, last)
    return b.where(at_end, b.full(shape, extent - kernel, i64), b("sub", place, first))


@lowers("fractional_max_pool2d", "fractional_max_pool3d")
def fractional_max_pool(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The elements of all windows are gathered, and the largest of each is taken."""
    dims = int(op.overload_name[19])
    x, samples = op.arg("self"), op.arg("random_samples")
    kernel, out = each(op.arg("kernel_size"), dims), shape_of(op.results[0])[-dims:]
    extents = shape_of(x)[-dims:]
    planes = prod(shape_of(x)[:-dims])
    # Without a batch dimension the samples may still have one; its first entry counts.
    samples = b.reshape(samples, [prod(shape_of(samples)[:-1]), dims])
    samples = b.slice(samples, 0, 0, planes)
    wide = [planes, *out, *kernel]
    flat: SSAValue = b.full(wide, 0, i64)
    for p in range(dims):
        # In 2D samples name the last dimension first, in 3D they do not.
        at = dims - 1 - p if dims == 2 else p
        column = b.slice(samples, 1, at, at + 1)
        start = fractional_starts(b, b.reshape(column, [planes]), extents[p], kernel[p], out[p])
        start = b("broadcast_in_dim", start, wide, [0, 1 + p])
        place = b("add", start, b.along(b.iota(kernel[p], i64), wide, 1 + dims + p))
        flat = b("add", b.with_number("mul", flat, extents[p]), place)
    outer, inner = prod(out), prod(kernel)
    places = b.reshape(flat, [planes, outer * inner])
    rows = b("gather", b.reshape(x, [planes, prod(extents)]), places, 1)
    rows, places = (b.reshape(v, [planes, outer, inner]) for v in (rows, places))
    best = b.reshape(b("argmax", rows, [2]), [planes, outer, 1])
    return [
        b.reshape(b("gather", v, best, 2), shape_of(r))
        for v, r in zip((rows, places), op.results, strict=True)
    ]
