"""Convolution and its transpose: prims.convolution, after padding and spreading what is odd."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import rank_of, shape_of


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
    """The convolution of x with zeros between its elements and the reversed window."""
    dims = len(stride)
    kernel = shape_of(weight)[2:]
    for i in range(dims):
        dim = i + 2
        x = spread(b, x, dim, stride[i])
        low = dilation[i] * (kernel[i] - 1) - padding[i]
        x = b.pad(x, dim, low, low + extra[i])
    return b(
        "convolution", x, _reversed(b, weight, groups), [1] * dims, [0] * dims, dilation, groups
    )


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
