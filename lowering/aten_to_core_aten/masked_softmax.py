"""softmax over what a mask admits; True in these masks means left out."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of

ROWS, KEYS = 0, 1
"""Mask types: one mask (length, length) for all, or one row of keys (batch, length) for each."""


def _dim(op: SchemaOp) -> int:
    dim = op.arg("dim")
    return -1 if dim is None else dim


@lowers("_masked_softmax")
def masked_softmax(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """exp(x) by its sum over what is not left out, 0 elsewhere; NaN where all is left out."""
    x, mask, kind = op.arg("self"), op.arg("mask"), op.arg("mask_type")
    shape = shape_of(x)
    if kind in (ROWS, KEYS) and shape_of(mask) != shape:
        lead = [1] * (len(shape) - 2)
        mask = b.view(
            mask, [*lead, *shape_of(mask)] if kind == ROWS else [shape[0], *lead, shape[-1]]
        )
    scores = b("where.self", mask, b.full([], -inf, element_of(x)), x)
    return b("_softmax", scores, _dim(op), False)


@lowers("_masked_softmax_backward")
def backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """y (g - sum(g y)) where the mask admits it; 0 elsewhere."""
    grad, y, mask = op.arg("grad_output"), op.arg("output"), op.arg("mask")
    zero = b.full([], 0.0, element_of(grad))
    product = b("where.self", mask, zero, b("mul.Tensor", grad, y))
    dim = _dim(op) % max(rank_of(grad), 1)
    total = b("sum.dim_IntList", product, [dim], True)
    made = b("sub.Tensor", product, b("mul.Tensor", y, total))
    return b("where.self", mask, zero, made)
