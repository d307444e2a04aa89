"""Convolution and its transpose: prims.convolution, after padding and spreading what is odd."""

from __future__ import annotations

from itertools import product
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of

MOST_PIECES = 32
"""Shifted pieces of overlapping windows that are added in one expression."""


@lowers("convolution")
def convolution(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Bias is added along the channels."""
    x, weight = op.arg("input"), op.arg("weight")
    dims = rank_of(weight) - 2
    stride, padding, dilation, extra = (
        each(op.arg(name), dims) for name in ("stride", "padding", "dilation", "output_padding")
    )
    if op.arg("transposed"):
        result = transposed(b, x, weight, stride, padding, dilation, extra, op.arg("groups"))
    else:
        result = b("convolution", x, weight, stride, padding, dilation, op.arg("groups"))
    bias = op.arg("bias")
    return result if bias is None else b("add", result, b.along(bias, shape_of(result), 1))


def each(values: list[int], dims: int) -> list[int]:
    """One number for each dimension."""
    return list(values) * dims if len(values) == 1 else list(values)


def transposed(
    b: PrimsBuilder,
    x: SSAValue,
    weight: SSAValue,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    extra: list[int],
    groups: int,
) -> SSAValue:
    """The sum of the windows that each element of x spreads over the result.

    In steps of one that is the convolution of x with the reversed window. In longer ones, most of
    its products would be with zeros between the elements.
    """
    dims = len(stride)
    kernel = shape_of(weight)[2:]
    pieces = prod(-(-size // step) for size, step in zip(kernel, stride, strict=True))
    if max(stride) > 1 and max(dilation) == 1 and pieces <= MOST_PIECES:
        return _overlapped(b, x, weight, stride, padding, extra, groups)
    for i in range(dims):
        dim = i + 2
        x = spread(b, x, dim, stride[i])
        low = dilation[i] * (kernel[i] - 1) - padding[i]
        x = b.pad(x, dim, low, low + extra[i])
    return b(
        "convolution", x, _reversed(b, weight, groups), [1] * dims, [0] * dims, dilation, groups
    )


def _overlapped(
    b: PrimsBuilder,
    x: SSAValue,
    weight: SSAValue,
    stride: list[int],
    padding: list[int],
    extra: list[int],
    groups: int,
) -> SSAValue:
    """A product makes all windows, which are added where they overlap (col2im, without places).

    Element k of the window that starts at `q * stride` lands on `(q + k // stride) * stride
    + k % stride`: for each quotient, the windows are one piece, shifted by as many steps.
    """
    dims, element = len(stride), element_of(x)
    batch, channels, *extents = shape_of(x)
    _, outputs, *kernel = shape_of(weight)
    wide = accumulation_type(element)
    x, weight = b.convert(x, wide), b.convert(weight, wide)
    x = b.reshape(x, [batch, groups, channels // groups, *extents])
    weight = b.reshape(weight, [groups, channels // groups, outputs, *kernel])
    made = b("contract", weight, x, [0], [1], [1], [2])
    counts = [-(-size // step) for size, step in zip(kernel, stride, strict=True)]
    for p in range(dims):
        made = b.pad(made, 2 + p, 0, counts[p] * stride[p] - kernel[p])
    total: SSAValue | None = None
    for steps in product(*map(range, counts)):
        piece = made
        for p, step in enumerate(steps):
            piece = b.slice(piece, 2 + p, step * stride[p], (step + 1) * stride[p])
            piece = b.pad(piece, 3 + dims + p, step, counts[p] - 1 - step)
        total = piece if total is None else b("add", total, piece)
    assert total is not None
    order = [2 + dims, 0, 1]
    for p in range(dims):
        order += [3 + dims + p, 2 + p]
    total = b.transpose(total, order)
    lengths = [(e + n - 1) * s for e, n, s in zip(extents, counts, stride, strict=True)]
    total = b.reshape(total, [batch, groups * outputs, *lengths])
    for p in range(dims):
        wanted = (extents[p] - 1) * stride[p] - 2 * padding[p] + kernel[p] + extra[p]
        total = b.pad(total, 2 + p, -padding[p], padding[p] + wanted - lengths[p])
    return b.convert(total, element)


def spread(b: PrimsBuilder, x: SSAValue, dim: int, stride: int) -> SSAValue:
    """stride - 1 zeros between neighbours along `dim`."""
    if stride == 1:
        return x
    shape = shape_of(x)
    x = b.pad(b.reshape(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]]), dim + 1, 0, stride - 1)
    x = b.reshape(x, [*shape[:dim], shape[dim] * stride, *shape[dim + 1 :]])
    return b.pad(x, dim, 0, 1 - stride)


def _reversed(b: PrimsBuilder, weight: SSAValue, groups: int) -> SSAValue:
    """(C, O / groups, window) to (O, C / groups, reversed window)."""
    channels, out, *kernel = shape_of(weight)
    dims: list[int] = list(range(3, 3 + len(kernel)))
    grouped = b.reshape(weight, [groups, channels // groups, out, *kernel])
    swapped = b.transpose(grouped, [0, 2, 1, *dims])
    merged = b.reshape(swapped, [groups * out, channels // groups, *kernel])
    return b("rev", merged, [d - 1 for d in dims])
