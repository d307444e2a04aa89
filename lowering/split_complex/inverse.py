"""Inverse trigonometric and hyperbolic functions of complex numbers.

Kahan's formulas (Branch cuts for complex elementary functions, 1987): products of roots instead of
roots of products, so that signed zeros find the right side of each cut.
"""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.exponential import sqrt
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits
from lamina.lowering.split_complex.trigonometric import over_i, times_i


def _roots(b: ComplexBuilder, z: Parts) -> tuple[Parts, Parts]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = z
    below = sqrt(b, (b.sub(b.like(x, 1), x), b("neg", y)))
    return below, sqrt(b, (b.add(x, 1.0), y))


def asin(b: ComplexBuilder, z: Parts) -> Parts:
    """The arc sine."""
    (p, q), (u, v) = _roots(b, z)
    real = b("atan2", z[0], b.sub(b.mul(p, u), b.mul(q, v)))
    return real, b("asinh", b.sub(b.mul(p, v), b.mul(q, u)))


def acos(b: ComplexBuilder, z: Parts) -> Parts:
    """The arc cosine."""
    (p, q), (u, v) = _roots(b, z)
    return b.mul(b("atan2", p, u), 2.0), b("asinh", b.sub(b.mul(u, q), b.mul(v, p)))


def acosh(b: ComplexBuilder, z: Parts) -> Parts:
    """The inverse of cosh with a real part of at least 0."""
    x, y = z
    (p, q), (u, v) = sqrt(b, (b.sub(x, 1.0), y)), sqrt(b, (b.add(x, 1.0), y))
    real = b("asinh", b.add(b.mul(p, u), b.mul(q, v)))
    return real, b.mul(b("atan2", q, u), 2.0)


def atanh(b: ComplexBuilder, z: Parts) -> Parts:
    """(log(1 + z) - log(1 - z)) / 2, by log1p and without cancellation: atanh is odd."""
    x, y = z
    size = b("abs", x)
    gap = b.sub(b.like(x, 1), size)
    real = b("log1p", b.div(b.mul(size, 4.0), b.add(b.mul(gap, gap), b.mul(y, y))))
    real = b.where(b("signbit", x), b("neg", real), real)
    angles = (b("atan2", y, b.add(x, 1.0)), b("atan2", y, b.sub(b.like(x, 1), x)))
    return b.mul(real, 0.25), b.mul(b.add(*angles), 0.5)


@splits("asin")
def _asin(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return asin(b, b.parts(op.operands[0]))


@splits("acos")
def _acos(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return acos(b, b.parts(op.operands[0]))


@splits("acosh")
def _acosh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return acosh(b, b.parts(op.operands[0]))


@splits("asinh")
def _asinh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """-i asin(iz)."""
    return over_i(b, asin(b, times_i(b, b.parts(op.operands[0]))))


@splits("atanh")
def _atanh(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return atanh(b, b.parts(op.operands[0]))


@splits("atan")
def _atan(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """-i atanh(iz)."""
    return over_i(b, atanh(b, times_i(b, b.parts(op.operands[0]))))
