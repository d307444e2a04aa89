"""Bessel functions of order 0 and 1; f64.

Up to 8 Chebyshev series in x^2; beyond, Hankel's expansion with P and Q as Chebyshev series in
64 / x^2 (DLMF 10.17.3, 10.17.4). For Y the logarithm is apart (10.8.2).
"""

from math import pi

from lamina.codegen.vector_math import chebyshev_bessel as c
from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder

EDGE = 8.0
P = (c.HANKEL_P0, c.HANKEL_P1)
Q = (c.HANKEL_Q0, c.HANKEL_Q1)
SMALL = (c.J0, c.J1)
REST = (c.Y0, c.Y1)


def _near(b: SpecialBuilder, x: Value) -> Value:
    """x^2 on 0 .. 64 as -1 .. 1."""
    return b.fma(x * x, 1.0 / 32.0, -1.0)


def _far(b: SpecialBuilder, x: Value, order: int) -> tuple[Value, Value]:
    """(J, Y) of an order for x > 8; 0 at infinity."""
    inverse = EDGE / x
    t = b.fma(inverse * inverse, 2.0, -1.0)
    p = b.chebyshev(t, P[order])
    q = b.chebyshev(t, Q[order]) * inverse
    sine, cosine = b.apply("sin", x), b.apply("cos", x)
    # cos and sin of x - pi/4 or x - 3 pi/4, up to sqrt(2).
    if order:
        first, second = sine - cosine, -(sine + cosine)
    else:
        first, second = sine + cosine, sine - cosine
    scale = 1.0 / b.sqrt(x * pi)
    endless = x.equals(float("inf"))
    j = b.select(endless, 0.0, (p * first - q * second) * scale)
    y = b.select(endless, 0.0, (p * second + q * first) * scale)
    return j, y


def _small_j(b: SpecialBuilder, x: Value, order: int) -> Value:
    value = b.chebyshev(_near(b, x), SMALL[order])
    return value * x if order else value


def _split(b: SpecialBuilder, x: Value) -> tuple[Value, Value, Value]:
    """(|x| > 8, x where it is not, x where it is; harmless numbers elsewhere)."""
    magnitude = b.abs(x)
    far = magnitude > EDGE
    return far, b.select(far, 1.0, magnitude), b.select(far, magnitude, 16.0)


def _first_kind(b: SpecialBuilder, x: Value, order: int) -> Value:
    far, small, large = _split(b, x)
    result = b.select(far, _far(b, large, order)[0], _small_j(b, small, order))
    return b.select(x.is_nan(), x, result)


def _second_kind(b: SpecialBuilder, x: Value, order: int) -> Value:
    """-inf at 0, NaN for negative x."""
    far, small, large = _split(b, x)
    logarithm = b.apply("log", small)
    rest = b.chebyshev(_near(b, small), REST[order])
    near = logarithm * _small_j(b, small, order)
    if order:
        near = near - 1.0 / small
        rest = rest * small
    near = b.fma(near, 2.0 / pi, rest)
    result = b.select(far, _far(b, large, order)[1], near)
    result = b.select(x.equals(0.0), -float("inf"), result)
    return b.select(x >= 0.0, result, float("nan"))


def bessel_j0(b: SpecialBuilder, x: Value) -> Value:
    """J_0(x)."""
    return _first_kind(b, x, 0)


def bessel_j1(b: SpecialBuilder, x: Value) -> Value:
    """J_1(x), odd."""
    return _first_kind(b, x, 1) * b.copysign(1.0, x)


def bessel_y0(b: SpecialBuilder, x: Value) -> Value:
    """Y_0(x)."""
    return _second_kind(b, x, 0)


def bessel_y1(b: SpecialBuilder, x: Value) -> Value:
    """Y_1(x)."""
    return _second_kind(b, x, 1)


#: (-1)^k / (2k + 1)!, k = 7 .. 0.
_SINC = (
    -7.647163731819816e-13,
    1.6059043836821613e-10,
    -2.505210838544172e-08,
    2.7557319223985893e-06,
    -0.0001984126984126984,
    0.008333333333333333,
    -0.16666666666666666,
    1.0,
)


def spherical_bessel_j0(b: SpecialBuilder, x: Value) -> Value:
    """sin(x) / x: 1 at 0, 0 at +-inf (DLMF 10.49.3)."""
    small = b.horner(x * x, _SINC)
    result = b.select(b.abs(x) < 0.5, small, b.apply("sin", x) / x)
    return b.select(b.abs(x).equals(float("inf")), 0.0, result)
