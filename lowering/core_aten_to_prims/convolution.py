"""Convolution: prims.convolution, and what stands for its transpose."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.core_aten_to_prims.transposed_convolution import Windows, transposed_exactly
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


@lowers("convolution")
def convolution(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Bias is added along the channels; an image of no channels has a result of none."""
    x, weight = op.arg("input"), op.arg("weight")
    wanted = op.results[0]
    if 0 in shape_of(wanted):
        return b.full(shape_of(wanted), 0, element_of(wanted))
    dims = rank_of(weight) - 2
    stride, padding, dilation, extra = (
        each(op.arg(name), dims) for name in ("stride", "padding", "dilation", "output_padding")
    )
    if op.arg("transposed"):
        windows = Windows(stride, padding, dilation, extra, op.arg("groups"))
        result = transposed_exactly(b, x, weight, windows)
    else:
        result = b("convolution", x, weight, stride, padding, dilation, op.arg("groups"))
    bias = op.arg("bias")
    return result if bias is None else b("add", result, b.along(bias, shape_of(result), 1))


def each(values: list[int], dims: int) -> list[int]:
    """One number for each dimension."""
    return list(values) * dims if len(values) == 1 else list(values)
