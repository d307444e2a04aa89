"""Gradients of losses that compare scores with a margin (aten/src/ATen/native/LossMultiMargin.cpp,
LossMultiLabelMargin.cpp)."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.margin_loss import rows
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


def _row_gradient(op: SchemaOp, b: CoreBuilder, batch: int, classes: int) -> SSAValue:
    """What one term of each row's sum hands back: (batch, 1) or a single number."""
    grad = op.arg("grad_output")
    share = 1 / (classes * batch) if op.arg("reduction") == 1 else 1 / classes
    grad = b.view(grad, [batch, 1]) if rank_of(grad) and op.arg("reduction") == 0 else grad
    return b("mul.Scalar", grad, share)


@lowers("multi_margin_loss_backward")
def multi_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """w p max(0, margin - x[y] + x[i])^(p - 1) for classes i other than y; y loses their sum."""
    x, weight = rows(b, op.arg("self")), op.arg("weight")
    batch, classes = shape_of(x)
    target = b.view(op.arg("target"), [batch, 1])
    gap = b("add.Scalar", b("sub.Tensor", x, b("gather", x, 1, target)), op.arg("margin"))
    zero = b.full([], 0.0, element_of(x))
    own = b("eq.Tensor", b("arange.start_step", 0, classes, 1, dtype=i64), target)
    beaten = b("logical_and", b("gt.Scalar", gap, 0), b("logical_not", own))
    grad = _row_gradient(op, b, batch, classes)
    if op.arg("p") == 2:
        slope = b("mul.Tensor", b("mul.Scalar", gap, 2), grad)
    else:
        slope = b.expand(grad, [batch, classes])
    if weight is not None:
        slope = b("mul.Tensor", slope, b("index.Tensor", weight, [target]))
    slope = b("where.self", beaten, slope, zero)
    lost = b("neg", b("sum.dim_IntList", slope, [1], True))
    return b.view(b("where.self", own, lost, slope), shape_of(op.results[0]))


@lowers("multilabel_margin_loss_backward")
def multilabel_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1 for each target j and other class i with 1 - x[j] + x[i] > 0: to i, and from j."""
    x, target = rows(b, op.arg("self")), rows(b, op.arg("target"))
    batch, classes = shape_of(x)
    other = b("eq.Scalar", b.view(op.arg("is_target"), [batch, 1, classes]), 0)
    ended = b.cast(b("lt.Scalar", target, 0), i64)
    valid = b("eq.Scalar", b("cumsum", ended, 1), 0)
    safe = b("where.self", valid, target, b.full([], 0, i64))
    chosen = b("unsqueeze", b("gather", x, 1, safe), 2)
    gap = b("add.Scalar", b("sub.Tensor", b("unsqueeze", x, 1), chosen), 1)
    counted = b("logical_and", b("unsqueeze", valid, 2), other)
    hit = b.cast(b("logical_and", counted, b("gt.Scalar", gap, 0)), element_of(x))
    gained = b("sum.dim_IntList", hit, [1])
    lost = b("neg", b("sum.dim_IntList", hit, [2]))
    total = b("scatter_add", gained, 1, safe, lost)
    made = b("mul.Tensor", total, _row_gradient(op, b, batch, classes))
    return b.view(made, shape_of(op.results[0]))
