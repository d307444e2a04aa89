"""The inverse error function and the normal quantile; f64."""

from math import pi, sqrt

from lamina.codegen.vector_math import chebyshev_gamma as c
from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder

STEPS = 4


def _inverse_complement(b: SpecialBuilder, z: Value) -> Value:
    """x with erfc(x) = z, for 0 < z <= 1/2.

    Newton's method on ln erfc(x), which is nearly a parabola: the asymptotic start (DLMF 7.17.3)
    is right to some percent, each step squares the error.
    """
    logarithm = b.apply("log", z)
    doubled = b.apply("log", -(logarithm * pi))
    x = b.sqrt(-logarithm - b.at_most(doubled * 0.5, 5.0))
    for _ in range(STEPS):
        scaled = b.apply("erfcx", x)
        error = b.apply("log", scaled) - b.fma(x, x, logarithm)
        x = b.fma(error * (sqrt(pi) / 2), scaled, x)
    return x


def erf_inv(b: SpecialBuilder, y: Value) -> Value:
    """x with erf(x) = y; +-inf at +-1, NaN beyond."""
    magnitude = b.abs(y)
    inner = magnitude * b.chebyshev(b.fma(y * y, 8.0, -1.0), c.ERF_INV)
    rest = 1.0 - magnitude
    inside = b.both(magnitude > 0.5, magnitude < 1.0)
    outer = _inverse_complement(b, b.select(inside, rest, 0.25))
    result = b.select(magnitude > 0.5, outer, inner)
    result = b.select(magnitude.equals(1.0), float("inf"), result)
    result = b.select(magnitude <= 1.0, result, float("nan"))
    return b.copysign(result, y)


def ndtri(b: SpecialBuilder, p: Value) -> Value:
    """x with P(normal <= x) = p; -inf at 0, inf at 1, NaN beyond."""
    upper = p > 0.5
    tail = b.select(upper, 1.0 - p, p)
    middle = tail > 0.25
    near = b.apply("erf_inv", 1.0 - tail * 2.0)
    usable = b.both(tail > 0.0, tail <= 0.25)
    far = _inverse_complement(b, b.select(usable, tail * 2.0, 0.25))
    result = b.select(middle, near, far) * -sqrt(2.0)
    result = b.select(tail.equals(0.0), -float("inf"), result)
    result = b.select(tail.equals(0.5), 0.0, result)
    result = b.select(upper, -result, result)
    inside = b.both(p >= 0.0, p <= 1.0)
    return b.select(inside, result, float("nan"))
