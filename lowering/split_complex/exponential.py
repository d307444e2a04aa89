"""Exponentials, logarithms, powers and roots of complex numbers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.arithmetic import product, reciprocal
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits
from lamina.lowering.tensor_types import element_of


def exp(b: ComplexBuilder, z: Parts) -> Parts:
    """e^x (cos y + i sin y); real numbers stay real, infinite ones too."""
    x, y = z
    size = b("exp", x)
    plain = b.test("eq", y, 0.0)
    real = b.where(plain, size, b.mul(size, b("cos", y)))
    return real, b.where(plain, y, b.mul(size, b("sin", y)))


@splits("exp")
def _exp(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return exp(b, b.parts(op.operands[0]))


@splits("exp2")
def _exp2(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """e^(z ln 2)."""
    x, y = b.parts(op.operands[0])
    return exp(b, (b.mul(x, math.log(2)), b.mul(y, math.log(2))))


@splits("expm1")
def _expm1(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """expm1(x) cos y - 2 sin(y/2)^2 + i e^x sin y: nothing cancels near 0."""
    x, y = b.parts(op.operands[0])
    half = b("sin", b.mul(y, 0.5))
    real = b.sub(b.mul(b("expm1", x), b("cos", y)), b.mul(b.mul(half, half), 2.0))
    return real, b.mul(b("exp", x), b("sin", y))


def log(b: ComplexBuilder, z: Parts) -> Parts:
    """log |z| + i arg z."""
    x, y = z
    return b("log", b("hypot", x, y)), b("atan2", y, x)


@splits("log")
def _log(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return log(b, b.parts(op.operands[0]))


@splits("log2", "log10")
def _log_to_base(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """log z / log base."""
    x, y = b.parts(op.operands[0])
    name = op.name.removeprefix("prims.")
    base = 2.0 if name == "log2" else 10.0
    return b(name, b("hypot", x, y)), b.div(b("atan2", y, x), math.log(base))


@splits("log1p")
def _log1p(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """log |1 + z| by log1p of |1 + z|^2 - 1 where z is small."""
    x, y = b.parts(op.operands[0])
    moved = b.add(x, 1.0)
    excess = b.add(b.mul(x, b.add(x, 2.0)), b.mul(y, y))
    small = b.test("lt", b("hypot", x, y), 0.5)
    near = b.mul(b("log1p", excess), 0.5)
    return b.where(small, near, b("log", b("hypot", moved, y))), b("atan2", y, moved)


def sqrt(b: ComplexBuilder, z: Parts) -> Parts:
    """The root with a real part of at least 0 (Kahan, Branch cuts for complex functions, 1987)."""
    x, y = z
    # Numbers whose size overflows or is subnormal are brought to the middle of the range first.
    size = b("hypot", b.mul(x, 0.25), b.mul(y, 0.25))
    middle = b.add(size, b.mul(b("abs", x), 0.25))
    large = b.mul(b("sqrt", b.mul(middle, 0.5)), 2.0)
    nothing = b.test("eq", large, 0.0)
    small = b.where(nothing, large, b.div(b.mul(b("abs", y), 0.5), large))
    right = b.test("ge", x, 0.0)
    real, imag = b.where(right, large, small), b.where(right, small, large)
    imag = b.where(b("signbit", y), b("neg", imag), imag)
    endless = b.test("eq", b("abs", y), math.inf)
    return b.where(endless, b("abs", y), real), b.where(endless, y, imag)


@splits("sqrt")
def _sqrt(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return sqrt(b, b.parts(op.operands[0]))


@splits("rsqrt")
def _rsqrt(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """1 / sqrt z."""
    return reciprocal(b, sqrt(b, b.parts(op.operands[0])))


@splits("pow")
def _pow(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """e^(w log z). 0^w is 0 for a positive real part of w, and anything to the power of 0 is 1.

    In f64, since the exponential makes a relative error of an absolute one.
    """
    element = element_of(b.parts(op.operands[0])[0])
    real, imag = _power(b, *(_wide(b, b.parts(x)) for x in op.operands))
    return b.convert(real, element), b.convert(imag, element)


def _wide(b: ComplexBuilder, z: Parts) -> Parts:
    return b.convert(z[0], f64), b.convert(z[1], f64)


def _power(b: ComplexBuilder, z: Parts, w: Parts) -> Parts:
    real, imag = exp(b, product(b, w, log(b, z)))
    one, zero = b.like(real, 1), b.like(real, 0)
    no_base = b("bitwise_and", b.test("eq", z[0], 0.0), b.test("eq", z[1], 0.0))
    vanishes = b("bitwise_and", no_base, b.test("gt", w[0], 0.0))
    no_power = b("bitwise_and", b.test("eq", w[0], 0.0), b.test("eq", w[1], 0.0))
    real = b.where(no_power, one, b.where(vanishes, zero, real))
    return real, b.where(b("bitwise_or", no_power, vanishes), zero, imag)
