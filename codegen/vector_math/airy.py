"""The Airy function Ai; f64."""

from math import pi, sqrt

from lamina.codegen.vector_math import chebyshev_airy as c
from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder

LEFT, RIGHT = -6.0, 2.0
LAST = 103.892
"""Beyond, the value is 0 in torch; in truth it is below 10^-308 from 104 on."""
EDGE = 2.0 / 3.0 * 6.0**1.5


def airy_ai(b: SpecialBuilder, x: Value) -> Value:
    """Ai(x): a Chebyshev series on -6 .. 2; outside, series in the variable of DLMF 9.7.5, 9.7.9.

    NaN at infinity.
    """
    magnitude = b.abs(x)
    outside = b.either(x < LEFT, x > RIGHT)
    y = b.select(outside, magnitude, 8.0)
    root = b.sqrt(y)
    z = y * root * (2.0 / 3.0)
    scale = 1.0 / (b.sqrt(root) * sqrt(pi))
    decaying = b.chebyshev((4.0 / 3.0) / z * (2.0 * sqrt(2.0)) - 1.0, c.AIRY_LARGE)
    right = decaying * b.apply("exp", -z) * scale * 0.5
    ratio = EDGE / z
    t = b.fma(ratio * ratio, 2.0, -1.0)
    p, q = b.chebyshev(t, c.AIRY_P), b.chebyshev(t, c.AIRY_Q) / z
    sine, cosine = b.apply("sin", z), b.apply("cos", z)
    wave = (p * (sine + cosine) - q * (cosine - sine)) * sqrt(0.5)
    left = wave * scale
    inner = b.select(outside, 0.0, x)
    middle = b.chebyshev(b.fma(inner, 0.25, 0.5), c.AIRY_MIDDLE)
    result = b.select(x < LEFT, left, b.select(x > RIGHT, right, middle))
    result = b.select(x > LAST, 0.0, result)
    return b.select(magnitude < float("inf"), result, float("nan"))
