"""Activation functions and dropout."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of


@lowers("silu")
def silu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * sigmoid(x)."""
    x = op.arg("self")
    return b("mul.Tensor", x, b("sigmoid", x))


def _softplus(b: CoreBuilder, x: SSAValue, beta: float, threshold: float) -> SSAValue:
    scaled = b("mul.Scalar", x, beta) if beta != 1 else x
    soft = b("log1p", b("exp", scaled))
    soft = b("div.Scalar", soft, beta) if beta != 1 else soft
    return b("where.self", b("gt.Scalar", scaled, threshold), x, soft)


@lowers("softplus")
def softplus(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """log1p(exp(beta x)) / beta; x itself above the threshold."""
    return _softplus(b, op.arg("self"), op.arg("beta"), op.arg("threshold"))


@lowers("mish")
def mish(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * tanh(softplus(x))."""
    x = op.arg("self")
    return b("mul.Tensor", x, b("tanh", _softplus(b, x, 1, 20)))


@lowers("log_sigmoid")
def log_sigmoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """min(x, 0) - log1p(exp(-|x|))."""
    x = op.arg("self")
    tail = b("log1p", b("exp", b("neg", b("abs", x))))
    return b("sub.Tensor", b("clamp", x, None, 0), tail)


@lowers("hardsigmoid")
def hardsigmoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """clamp(x + 3, 0, 6) / 6."""
    return b("div.Scalar", b("clamp", b("add.Scalar", op.arg("self"), 3), 0, 6), 6)


@lowers("hardswish")
def hardswish(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * clamp(x + 3, 0, 6) / 6."""
    x = op.arg("self")
    gate = b("clamp", b("add.Scalar", x, 3), 0, 6)
    return b("div.Scalar", b("mul.Tensor", x, gate), 6)


@lowers("relu6")
def relu6(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """clamp(x, 0, 6)."""
    return b("hardtanh", op.arg("self"), 0, 6)


@lowers("selu")
def selu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """elu with the two published constants."""
    return b("elu", op.arg("self"), 1.6732632423543772, 1.0507009873554805, 1)


@lowers("celu")
def celu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """elu whose exponential is scaled by 1 / alpha."""
    alpha = op.arg("alpha")
    return b("elu", op.arg("self"), alpha, 1, 1 / alpha)


@lowers("glu")
def glu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """First half times the sigmoid of the second."""
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    half = shape_of(x)[dim] // 2
    first = b("slice.Tensor", x, dim, 0, half)
    return b("mul.Tensor", first, b("sigmoid", b("slice.Tensor", x, dim, half, 2 * half)))


@lowers("threshold")
def threshold(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """value where x <= threshold."""
    x = op.arg("self")
    value = b.full([], op.arg("value"), element_of(x))
    return b("where.self", b("le.Scalar", x, op.arg("threshold")), value, x)


@lowers("hardshrink")
def hardshrink(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0 where |x| <= lambd."""
    x = op.arg("self")
    inside = b("le.Scalar", b("abs", x), op.arg("lambd"))
    return b("where.self", inside, b.full([], 0.0, element_of(x)), x)


@lowers("softshrink")
def softshrink(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x moved towards 0 by lambd; NaN stays (|x * 0| in the middle)."""
    x, amount = op.arg("self"), op.arg("lambd")
    middle = b("abs", b("mul.Scalar", x, 0))
    low = b("where.self", b("lt.Scalar", x, -amount), b("add.Scalar", x, amount), middle)
    return b("where.self", b("gt.Scalar", x, amount), b("sub.Scalar", x, amount), low)


@lowers("prelu", "_prelu_kernel")
def prelu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """weight * x where x <= 0; one weight, or one for each channel (dimension 1)."""
    x, weight = op.arg("self"), op.arg("weight")
    if rank_of(weight) == 1 and rank_of(x) != 1:
        channels = shape_of(weight)[0]
        weight = b.view(weight, [1, channels] + [1] * (rank_of(x) - 2) if rank_of(x) else [])
    return b("where.self", b("gt.Scalar", x, 0), x, b("mul.Tensor", weight, x))
