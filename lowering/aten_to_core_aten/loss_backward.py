"""Gradients of losses for their first argument (reduction 0 none, 1 mean, 2 sum).

Formulas and the side taken at a kink: aten/src/ATen/native/Loss.cpp, BinaryOps.cpp and LossNLL.cpp.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.loss import of_samples
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import (
    broadcast_shapes,
    element_of,
    numel,
    rank_of,
    shape_of,
)


def _share(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient of one element's loss: the whole one, or its part of a mean."""
    g = op.arg("grad_output")
    if op.arg("reduction") != 1:
        return g
    return b("mul.Scalar", g, 1 / max(numel(op.results[0]), 1))


def _difference(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    x, y = op.arg("self"), op.arg("target")
    if broadcast_shapes(shape_of(x), shape_of(y)) != shape_of(x):
        raise b.refuse("a target larger than the input", "a target that broadcasts to the input")
    return b("sub.Tensor", x, y)


@lowers("mse_loss_backward")
def mse_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """2 (x - y) g."""
    return b("mul.Tensor", b("mul.Scalar", _difference(op, b), 2), _share(op, b))


@lowers("smooth_l1_loss_backward", "huber_loss_backward")
def smooth_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """clamp(x - y, -bound, bound) g, divided by the bound for smooth_l1; sign(x - y) for 0."""
    smooth = op.overload_name.startswith("smooth")
    bound = op.arg("beta" if smooth else "delta")
    z = _difference(op, b)
    if bound == 0:
        return b("mul.Tensor", b("sign", z), _share(op, b))
    slope = b("clamp", z, -bound, bound)
    slope = b("div.Scalar", slope, bound) if smooth else slope
    return b("mul.Tensor", slope, _share(op, b))


@lowers("soft_margin_loss_backward")
def soft_margin_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-y sigmoid(-y x) g."""
    y = b("neg", op.arg("target"))
    slope = b("mul.Tensor", y, b("sigmoid", b("mul.Tensor", y, op.arg("self"))))
    return b("mul.Tensor", slope, _share(op, b))


@lowers("binary_cross_entropy_backward")
def binary_cross_entropy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(x - y) / max(x (1 - x), 1e-12) weight g."""
    x, weight = op.arg("self"), op.arg("weight")
    spread = b("mul.Tensor", b("add.Scalar", b("neg", x), 1), x)
    slope = b("div.Tensor", _difference(op, b), b("clamp", spread, 1e-12, None))
    slope = slope if weight is None else b("mul.Tensor", slope, weight)
    return b("mul.Tensor", slope, _share(op, b))


@lowers("nll_loss_backward", "nll_loss2d_backward")
def nll_loss(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-weight g where the class is the target, else 0; a mean divides by the total weight.

    The weight is gathered (ones without one), so that a target out of range is an error.
    """
    x, target, weight = op.arg("self"), op.arg("target"), op.arg("weight")
    element, shape = element_of(x), shape_of(x)
    dim = min(rank_of(x) - 1, 1)
    target = of_samples(b, x, target)
    kept = b("ne.Scalar", target, op.arg("ignore_index"))
    safe = b("where.self", kept, target, b.full([], 0, element_of(target)))
    table = b.full([shape[dim]], 1.0, element) if weight is None else weight
    factor = b.view(b("gather", table, 0, b.view(safe, [numel(safe)])), shape_of(target))
    g = op.arg("grad_output")
    if numel(g) == 1 and (op.arg("reduction") or rank_of(x) == 1):
        g = b.view(g, [])  # of one loss; torch takes a vector of one element too
    if op.arg("reduction") == 1:
        g = b("div.Tensor", g, b.view(op.arg("total_weight"), []))
    g = b("neg", b("mul.Tensor", factor, g))
    g = b("where.self", kept, g, b.full([], 0.0, element))
    classes = b("arange.start_step", 0, shape[dim], 1, dtype=element_of(target))
    classes = b.view(classes, [shape[d] if d == dim else 1 for d in range(rank_of(x))])
    chosen = b("eq.Tensor", classes, b("unsqueeze", safe, dim))
    return b("where.self", chosen, b("unsqueeze", g, dim), b.full([], 0.0, element))
