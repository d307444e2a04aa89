"""Activation functions."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, is_complex


@lowers("relu")
def relu(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """maximum(x, 0); NaN stays."""
    return b.with_number("maximum", op.arg("self"), 0)


@lowers("sigmoid")
def sigmoid(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Its primitive; of complex numbers 1 / (1 + exp(-x))."""
    element = element_of(op.results[0])
    x = b.convert(op.arg("self"), element)
    if is_complex(element):
        return b("reciprocal", b.with_number("add", b("exp", b("neg", x)), 1))
    return b("sigmoid", x)


@lowers("hardtanh")
def hardtanh(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """clamp to [min_val, max_val]."""
    x = b.with_number("maximum", op.arg("self"), op.arg("min_val"))
    return b.with_number("minimum", x, op.arg("max_val"))


@lowers("leaky_relu")
def leaky_relu(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """x * negative_slope where x is not above 0."""
    x = op.arg("self")
    low = b.with_number("mul", x, op.arg("negative_slope"))
    return b.where(b.with_number("gt", x, 0), x, low)


@lowers("elu")
def elu(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """scale * x above 0, scale * alpha * expm1(input_scale * x) below."""
    x, scale, alpha = op.arg("self"), op.arg("scale"), op.arg("alpha")
    inner = x if op.arg("input_scale") == 1 else b.with_number("mul", x, op.arg("input_scale"))
    low = b.with_number("mul", b("expm1", inner), alpha * scale)
    high = x if scale == 1 else b.with_number("mul", x, scale)
    return b.where(b.with_number("gt", x, 0), high, low)


@lowers("gelu")
def gelu(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """x/2 (1 + erf(x / sqrt 2)), or tanh(sqrt(2/pi) (x + 0.044715 x^3)) instead of erf."""
    result: Attribute = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    if op.arg("approximate") == "tanh":
        cubic = b.with_number("mul", b("mul", b("mul", x, x), x), 0.044715)
        curve = b("tanh", b.with_number("mul", b("add", x, cubic), sqrt(2 / pi)))
    else:
        curve = b("erf", b.with_number("mul", x, sqrt(0.5)))
    value = b("mul", b.with_number("mul", x, 0.5), b.with_number("add", curve, 1))
    return b.convert(value, result)
