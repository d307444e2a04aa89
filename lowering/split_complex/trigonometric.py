"""Trigonometric and hyperbolic functions of complex numbers."""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits


def times_i(b: ComplexBuilder, z: Parts) -> Parts:
    """iz."""
    return b("neg", z[1]), z[0]


def over_i(b: ComplexBuilder, z: Parts) -> Parts:
    """-iz."""
    return z[1], b("neg", z[0])


def sinh(b: ComplexBuilder, z: Parts) -> Parts:
    """sinh x cos y + i cosh x sin y."""
    x, y = z
    return b.mul(b("sinh", x), b("cos", y)), b.mul(b("cosh", x), b("sin", y))


def cosh(b: ComplexBuilder, z: Parts) -> Parts:
    """cosh x cos y + i sinh x sin y."""
    x, y = z
    return b.mul(b("cosh", x), b("cos", y)), b.mul(b("sinh", x), b("sin", y))


FAR = 20.0
"""Beyond this the hyperbolic tangent is 1 in both types, and its square has not overflown yet."""


def tanh(b: ComplexBuilder, z: Parts) -> Parts:
    """Kahan's formula, and its limit where sinh^2 would overflow (Branch cuts, 1987)."""
    x, y = z
    tangent = b("tan", y)
    beta = b.add(b.mul(tangent, tangent), 1.0)
    sine = b("sinh", x)
    rho = b("sqrt", b.add(b.mul(sine, sine), 1.0))
    below = b.add(b.mul(beta, b.mul(sine, sine)), 1.0)
    real = b.div(b.mul(b.mul(beta, rho), sine), below)
    imag = b.div(tangent, below)
    far = b.test("gt", b("abs", x), FAR)
    decay = b("exp", b.mul(b("abs", x), -2.0))
    flat = b.mul(b.mul(b("sin", y), b("cos", y)), b.mul(decay, 4.0))
    return b.where(far, b("sign", x), real), b.where(far, flat, imag)


@splits("sinh")
def _sinh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return sinh(b, b.parts(op.operands[0]))


@splits("cosh")
def _cosh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return cosh(b, b.parts(op.operands[0]))


@splits("tanh")
def _tanh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return tanh(b, b.parts(op.operands[0]))


@splits("sin")
def _sin(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """-i sinh(iz)."""
    return over_i(b, sinh(b, times_i(b, b.parts(op.operands[0]))))


@splits("cos")
def _cos(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """cosh(iz)."""
    return cosh(b, times_i(b, b.parts(op.operands[0])))


@splits("tan")
def _tan(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """-i tanh(iz)."""
    return over_i(b, tanh(b, times_i(b, b.parts(op.operands[0]))))
