"""Gradients of convolutions, which are convolutions again; col2im."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.convolution import each
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.core_aten_to_prims.transposed_convolution import Windows, transposed
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


@lowers("convolution_backward")
def convolution_backward(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Gradients that are wanted and used: of the input, the weight and the bias."""
    grad, x, weight = op.arg("grad_output"), op.arg("input"), op.arg("weight")
    dims = rank_of(weight) - 2
    stride, padding, dilation = (
        each(op.arg(name), dims) for name in ("stride", "padding", "dilation")
    )
    groups, wanted = op.arg("groups"), op.arg("output_mask")
    needed = [on and bool(r.uses) for on, r in zip(wanted, op.results, strict=True)]
    for on, gradient in zip(wanted, op.results, strict=True):
        if gradient.uses and not on:
            raise b.refuse("a gradient is used that the output mask leaves out")
    made: list[SSAValue | None] = [None, None, None]
    swapped = op.arg("transposed")
    if needed[0]:
        if swapped:
            made[0] = b("convolution", grad, weight, stride, padding, dilation, groups)
            for dim, extent in enumerate(shape_of(x)):
                # Output padding of a step or more has room for windows of no element.
                made[0] = b.slice(made[0], dim, 0, extent)
        else:
            extra = _remainder(shape_of(x), shape_of(grad), weight, stride, padding, dilation)
            windows = Windows(stride, padding, dilation, extra, groups)
            made[0] = transposed(b, grad, weight, windows)
    if needed[1]:
        image, windows = (grad, x) if swapped else (x, grad)
        made[1] = _weight(b, image, windows, weight, stride, padding, dilation, groups)
    if needed[2]:
        rest = [d for d in range(rank_of(grad)) if d != 1]
        result: Attribute = element_of(grad)
        made[2] = b.convert(b("sum", b.convert(grad, accumulation_type(result)), rest), result)
    return made


def _remainder(
    image: list[int],
    grad: list[int],
    weight: SSAValue,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> list[int]:
    """What the last windows leave over at the end of each dimension."""
    kernel = shape_of(weight)[2:]
    return [
        image[p + 2]
        - ((grad[p + 2] - 1) * stride[p] - 2 * padding[p] + dilation[p] * (kernel[p] - 1) + 1)
        for p in range(len(kernel))
    ]


def _weight(
    b: PrimsBuilder,
    image: SSAValue,
    windows: SSAValue,
    weight: SSAValue,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> SSAValue:
    """The image convolved with the gradients, batch and channels swapped, steps too.

    In groups: (batch, groups * c) becomes (c, groups * batch).
    """
    batch, channels, *extents = shape_of(image)
    space = list(range(3, 3 + len(extents)))
    parts = b.reshape(image, [batch, groups, channels // groups, *extents])
    parts = b.transpose(parts, [2, 1, 0, *space])
    parts = b.reshape(parts, [channels // groups, groups * batch, *extents])
    kernel, steps = shape_of(weight)[2:], shape_of(windows)[2:]
    reach = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(steps, stride, kernel, dilation, strict=True)
    ]
    if any(r < e + 2 * p for r, e, p in zip(reach, extents, padding, strict=True)):
        # Beyond the last window the image has no part in the gradient.
        for p, end in enumerate(reach):
            parts = b.pad(parts, p + 2, padding[p], end - padding[p] - extents[p])
        padding = [0] * len(padding)
    turned = b.transpose(windows, [1, 0, *range(2, rank_of(windows))])
    made = b("convolution", parts, turned, dilation, padding, stride, groups)
    return b.transpose(made, [1, 0, *range(2, rank_of(made))])


@lowers("col2im")
def col2im(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Columns are added up where their blocks stood, in the padded image, which is then cut."""
    columns = op.arg("self")
    result: Attribute = element_of(op.results[0])
    height, width = op.arg("output_size")
    kernel, stride = op.arg("kernel_size"), op.arg("stride")
    dilation, padding = op.arg("dilation"), op.arg("padding")
    lines = _axis(b, height, kernel[0], stride[0], dilation[0], padding[0])
    across = _axis(b, width, kernel[1], stride[1], dilation[1], padding[1])
    whole = [height + 2 * padding[0], width + 2 * padding[1]]
    rows, places = shape_of(lines)[1], shape_of(across)[1]
    shape = [kernel[0], kernel[1], rows, places]
    line = b("broadcast_in_dim", lines, shape, [0, 2])
    column = b("broadcast_in_dim", across, shape, [1, 3])
    index = b("add", b.with_number("mul", line, whole[1]), column)
    count = prod(shape)
    planes = prod(shape_of(columns)) // max(1, count)
    values = b.convert(columns, accumulation_type(result))
    values = b.reshape(values, [planes, count])
    zeros = b.full([planes, prod(whole)], 0, element_of(values))
    made = b("put", zeros, b.reshape(index, [count]), values, 1, "add")
    image = b.reshape(made, [planes, *whole])
    image = b.slice(image, 1, padding[0], padding[0] + height)
    image = b.slice(image, 2, padding[1], padding[1] + width)
    return b.convert(b.reshape(image, shape_of(op.results[0])), result)


def _axis(
    b: PrimsBuilder, extent: int, kernel: int, stride: int, dilation: int, padding: int
) -> SSAValue:
    """(kernel, blocks): where element k of each block stands in the padded axis."""
    blocks = (extent + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    shape = [kernel, blocks]
    within = b.with_number("mul", b.along(b.iota(kernel, i64), shape, 0), dilation)
    start = b.with_number("mul", b.along(b.iota(blocks, i64), shape, 1), stride)
    return b("add", start, within)
