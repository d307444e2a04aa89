"""ln |gamma|, digamma; f64."""

from math import log, pi

from lamina.codegen.vector_math import chebyshev_gamma as c
from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder

HALF_LOG_2PI = 0.5 * log(2 * pi)
#: B(2k) / (2k (2k - 1)), k = 8 .. 1 (DLMF 5.11.1).
STIRLING = (
    -3617 / 122400,
    1 / 156,
    -691 / 360360,
    1 / 1188,
    -1 / 1680,
    1 / 1260,
    -1 / 360,
    1 / 12,
)
#: B(2k) / (2k), k = 7 .. 1 (DLMF 5.11.2).
DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


def stirling_tail(b: SpecialBuilder, x: Value) -> Value:
    """ln gamma(x) - (x - 1/2) ln x + x - ln(2 pi) / 2 for x >= 8."""
    inverse = 1.0 / x
    return inverse * b.horner(inverse * inverse, STIRLING)


def sin_pi(b: SpecialBuilder, x: Value) -> Value:
    """sin(pi x), 0 exactly at integers."""
    whole = b.nearest(x)
    sine = b.apply("sin", (x - whole) * pi)
    half = whole * 0.5
    odd = b.invert(b.nearest(half).equals(half))
    return b.select(odd, -sine, sine)


def lgamma(b: SpecialBuilder, x: Value) -> Value:
    """ln |gamma(x)|; inf at the poles and at +-inf.

    Chebyshev series near the zeros 1 and 2; the recurrence from below 1/2 up, and from 8 down to 3,
    where its terms have one sign; Stirling's series from 8 (DLMF 5.11.1); reflection below 0.
    """
    mirrored = x < 0.0
    y = b.select(mirrored, 1.0 - x, x)
    small, large = y < 0.5, y >= 8.0
    product, z = b.const(1.0), y
    for _ in range(5):
        above = b.both(z >= 3.0, b.invert(large))
        z = b.select(above, z - 1.0, z)
        product = b.select(above, product * z, product)
    logarithm = b.apply("log", b.select(small, y, b.select(large, y, product)))
    from_one = b.select(small, y, y - 1.0)
    near_one = from_one * b.chebyshev(from_one * 2.0, c.LGAMMA_ONE)
    near_one = b.select(small, near_one - logarithm, near_one)
    near_two = (z - 2.0) * b.chebyshev((z - 2.25) * (4.0 / 3.0), c.LGAMMA_TWO) + logarithm
    stirling = (y - 0.5) * (logarithm - 1.0) + (HALF_LOG_2PI - 0.5) + stirling_tail(b, y)
    result = b.select(large, stirling, b.select(y < 1.5, near_one, near_two))
    sine = b.abs(sin_pi(b, x))
    result = b.select(mirrored, b.apply("log", pi / sine) - result, result)
    # Where the reflection loses x beside 1.
    size = b.abs(x)
    result = b.select(size < 2.0**-60, -b.apply("log", size), result)
    whole = b.both(b.floor(x).equals(x), x <= 0.0)
    infinite = b.either(whole, size.equals(float("inf")))
    return b.select(infinite, float("inf"), result)


def digamma(b: SpecialBuilder, x: Value) -> Value:
    """The derivative of ln gamma; -inf at 0, inf at -0, NaN at the other poles.

    Reflection below 0 (DLMF 5.5.4), recurrence up to 10, asymptotic series (5.11.2).
    """
    mirrored = x < 0.0
    y = b.select(mirrored, 1.0 - x, x)
    total = b.const(0.0)
    for _ in range(10):
        below = y < 10.0
        total = b.select(below, total - 1.0 / y, total)
        y = b.select(below, y + 1.0, y)
    inverse = 1.0 / y
    square = inverse * inverse
    tail = b.fma(square, b.horner(square, DIGAMMA), inverse * 0.5)
    tail = b.select(y < float("inf"), tail, 0.0)
    result = b.apply("log", y) - tail + total
    fraction = x - b.trunc(x)
    cotangent = pi / b.apply("tan", fraction * pi)
    result = b.select(mirrored, result - cotangent, result)
    pole = b.both(mirrored, fraction.equals(0.0))
    result = b.select(pole, float("nan"), result)
    at_zero = b.copysign(float("inf"), -x)
    return b.select(x.equals(0.0), at_zero, result)
