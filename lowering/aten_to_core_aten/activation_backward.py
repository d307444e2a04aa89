"""Gradients of activation functions and of dropout, pointwise.

Formulas and the side taken at a kink are those of torch's CPU kernels
(aten/src/ATen/native/cpu/Activation.cpp, BinaryOpsKernel.cpp).
"""

from __future__ import annotations

from math import nan, pi, sqrt

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of


def times(b: CoreBuilder, *factors: SSAValue) -> SSAValue:
    """The product of tensors, from the left."""
    product = factors[0]
    for factor in factors[1:]:
        product = b("mul.Tensor", product, factor)
    return product


def one_minus(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """1 - x."""
    return b("add.Scalar", b("neg", x), 1)


def _number(b: CoreBuilder, like: SSAValue, value: float) -> SSAValue:
    return b.full([], value, element_of(like))


def _outside(
    b: CoreBuilder, x: SSAValue, low: float, high: float, *, closed: bool = True
) -> SSAValue:
    """x <= low or x >= high; with `closed` false, x < low or x > high."""
    below, above = ("le.Scalar", "ge.Scalar") if closed else ("lt.Scalar", "gt.Scalar")
    return b("logical_or", b(below, x, low), b(above, x, high))


@lowers("sigmoid_backward")
def sigmoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g (1 - y) y."""
    y = op.arg("output")
    return times(b, op.arg("grad_output"), one_minus(b, y), y)


@lowers("tanh_backward")
def tanh(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g (1 - y^2)."""
    y = op.arg("output")
    return times(b, op.arg("grad_output"), one_minus(b, times(b, y, y)))


@lowers("silu_backward")
def silu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g s (1 + x (1 - s)), s = sigmoid(x)."""
    x = op.arg("self")
    s = b("sigmoid", x)
    slope = b("add.Scalar", times(b, x, one_minus(b, s)), 1)
    return times(b, op.arg("grad_output"), s, slope)


@lowers("mish_backward")
def mish(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g (t + x s (1 - t^2)), t = tanh(softplus(x)), s = sigmoid(x)."""
    x = op.arg("self")
    t = b("tanh", b("log1p", b("exp", x)))
    rest = times(b, x, b("sigmoid", x), one_minus(b, times(b, t, t)))
    return times(b, op.arg("grad_output"), b("add.Tensor", t, rest))


@lowers("gelu_backward")
def gelu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g (cdf(x) + x pdf(x)), or the derivative of the approximation by tanh."""
    slope = _tanh_gelu_slope if op.arg("approximate") == "tanh" else _gelu_slope
    return times(b, op.arg("grad_output"), slope(b, op.arg("self")))


def _gelu_slope(b: CoreBuilder, x: SSAValue) -> SSAValue:
    erf = b("erf", b("mul.Scalar", x, 1 / sqrt(2)))
    cdf = b("mul.Scalar", b("add.Scalar", erf, 1), 0.5)
    pdf = b("mul.Scalar", b("exp", b("mul.Scalar", times(b, x, x), -0.5)), 1 / sqrt(2 * pi))
    return b("add.Tensor", cdf, times(b, x, pdf))


def _tanh_gelu_slope(b: CoreBuilder, x: SSAValue) -> SSAValue:
    beta, kappa = sqrt(2 / pi), 0.044715
    square = times(b, x, x)
    cubic = b("add.Scalar", b("mul.Scalar", square, kappa), 1)
    t = b("tanh", b("mul.Scalar", times(b, x, cubic), beta))
    inner = b("mul.Scalar", b("add.Scalar", b("mul.Scalar", square, 3 * kappa), 1), beta)
    left = b("mul.Scalar", b("add.Scalar", t, 1), 0.5)
    right = times(b, b("mul.Scalar", x, 0.5), one_minus(b, times(b, t, t)), inner)
    return b("add.Tensor", left, right)


@lowers("threshold_backward")
def threshold(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0 where x <= threshold."""
    g, low = op.arg("grad_output"), b("le.Scalar", op.arg("self"), op.arg("threshold"))
    return b("where.self", low, _number(b, g, 0), g)


@lowers("elu_backward")
def elu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g scale above 0; below, from x or from the function's result."""
    g, x = op.arg("grad_output"), op.arg("self_or_result")
    scale, inner = op.arg("scale"), op.arg("input_scale")
    coefficient = op.arg("alpha") * scale
    if op.arg("is_result"):
        slope = b("mul.Scalar", b("add.Scalar", x, coefficient), inner)
    else:
        slope = b("mul.Scalar", b("exp", b("mul.Scalar", x, inner)), inner * coefficient)
    low = b("le.Scalar", x, 0)
    return b("where.self", low, times(b, g, slope), b("mul.Scalar", g, scale))


@lowers("hardtanh_backward")
def hardtanh(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g inside the open interval, else 0."""
    g = op.arg("grad_output")
    flat = _outside(b, op.arg("self"), op.arg("min_val"), op.arg("max_val"))
    return b("where.self", flat, _number(b, g, 0), g)


@lowers("hardsigmoid_backward")
def hardsigmoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g / 6 where -3 < x < 3, else (at a NaN too) 0."""
    g, x = op.arg("grad_output"), op.arg("self")
    inside = b("logical_and", b("gt.Scalar", x, -3), b("lt.Scalar", x, 3))
    return b("where.self", inside, b("mul.Scalar", g, 1 / 6), _number(b, g, 0))


@lowers("hardswish_backward")
def hardswish(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0 up to -3, g (x / 3 + 1/2) below 3, g from there on."""
    g, x = op.arg("grad_output"), op.arg("self")
    middle = times(b, g, b("add.Scalar", b("div.Scalar", x, 3), 0.5))
    high = b("where.self", b("lt.Scalar", x, 3), middle, g)
    return b("where.self", b("le.Scalar", x, -3), _number(b, g, 0), high)


def _leaky(b: CoreBuilder, g: SSAValue, x: SSAValue, slope: float) -> SSAValue:
    return b("where.self", b("gt.Scalar", x, 0), g, b("mul.Scalar", g, slope))


@lowers("leaky_relu_backward")
def leaky_relu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g above 0, else g slope; the sign of the result is that of x."""
    return _leaky(b, op.arg("grad_output"), op.arg("self"), op.arg("negative_slope"))


@lowers("rrelu_with_noise_backward")
def rrelu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g noise in training; else as leaky_relu with the middle slope."""
    g, lower, upper = op.arg("grad_output"), op.arg("lower"), op.arg("upper")
    if op.arg("training") and upper - lower > 1e-6:
        return times(b, g, op.arg("noise"))
    return _leaky(b, g, op.arg("self"), (lower + upper) / 2)


@lowers("_prelu_kernel_backward")
def prelu(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """For self, g above 0, else g weight; for weight, 0 above 0, else g x."""
    g, x, weight = op.arg("grad_output"), op.arg("self"), op.arg("weight")
    high = b("gt.Scalar", x, 0)
    product = times(b, g, x)
    first = b("where.self", high, g, times(b, g, weight))
    return [first, b("where.self", high, _number(b, product, 0), product)]


@lowers("log_sigmoid_backward")
def log_sigmoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g sigmoid(-x)."""
    return times(b, op.arg("grad_output"), b("sigmoid", b("neg", op.arg("self"))))


@lowers("softplus_backward")
def softplus(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g sigmoid(beta x); g above the threshold."""
    g, scaled = op.arg("grad_output"), b("mul.Scalar", op.arg("self"), op.arg("beta"))
    linear = b("gt.Scalar", scaled, op.arg("threshold"))
    return b("where.self", linear, g, times(b, g, b("sigmoid", scaled)))


@lowers("hardshrink_backward", "softshrink_backward")
def shrink(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0 where -lambd <= x <= lambd."""
    g = op.arg("grad_out" if op.overload_name.startswith("hard") else "grad_output")
    x, bound = op.arg("self"), op.arg("lambd")
    flat = b("logical_and", b("ge.Scalar", x, -bound), b("le.Scalar", x, bound))
    return b("where.self", flat, _number(b, g, 0), g)


@lowers("logit_backward")
def logit(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g / (x (1 - x)); outside [eps, 1 - eps] 0, or NaN outside [0, 1] without eps."""
    g, x, eps = op.arg("grad_output"), op.arg("self"), op.arg("eps")
    slope = b("div.Tensor", g, times(b, x, one_minus(b, x)))
    low, flat = (0.0, nan) if eps is None else (eps, 0.0)
    outside = _outside(b, x, low, 1 - low, closed=False)
    return b("where.self", outside, _number(b, g, flat), slope)


@lowers("glu_backward")
def glu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g s for the first half, g a s (1 - s) for the second, s = sigmoid(second half)."""
    g, x = op.arg("grad_output"), op.arg("self")
    dim = normalized(op.arg("dim"), rank_of(x))
    half = shape_of(x)[dim] // 2
    first = b("slice.Tensor", x, dim, 0, half, 1)
    s = b("sigmoid", b("slice.Tensor", x, dim, half, 2 * half, 1))
    scaled = times(b, g, s)
    return b("cat", [scaled, times(b, scaled, first, one_minus(b, s))], dim)


@lowers("native_dropout_backward")
def dropout(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g scale where the mask is true."""
    g = op.arg("grad_output")
    return b("mul.Scalar", times(b, g, b.cast(op.arg("mask"), element_of(g))), op.arg("scale"))


@lowers("glu_jvp")
def glu_jvp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The derivative of glu = a s along dx: s da + glu (1 - s) db, s = sigmoid(second half)."""
    x, dim = op.arg("x"), normalized(op.arg("dim"), rank_of(op.arg("x")))
    _, second = _halves(b, x, dim)
    along_a, along_b = _halves(b, op.arg("dx"), dim)
    s = b("sigmoid", second)
    return b("add.Tensor", times(b, along_a, s), times(b, op.arg("glu"), one_minus(b, s), along_b))


@lowers("glu_backward_jvp")
def glu_backward_jvp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The derivative of glu_backward along (dgrad, dx); its own result is grad_x."""
    x, dim = op.arg("x"), normalized(op.arg("dim"), rank_of(op.arg("x")))
    first, second = _halves(b, x, dim)
    along_first, along_second = _halves(b, op.arg("dx"), dim)
    s = b("sigmoid", second)
    rest = one_minus(b, s)
    bent = times(b, rest, along_second)
    grad, _ = _halves(b, op.arg("grad_x"), dim)
    made = b("add.Tensor", times(b, op.arg("dgrad_glu"), s), times(b, grad, bent))
    inner = b("sub.Tensor", times(b, along_first, rest), times(b, first, s, bent))
    other = b("add.Tensor", times(b, made, first, rest), times(b, grad, inner))
    return b("cat", [made, other], dim)


def _halves(b: CoreBuilder, x: SSAValue, dim: int) -> tuple[SSAValue, SSAValue]:
    half = shape_of(x)[dim] // 2
    return b("slice.Tensor", x, dim, 0, half), b("slice.Tensor", x, dim, half, 2 * half)
