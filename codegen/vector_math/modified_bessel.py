"""Modified Bessel functions of order 0 and 1; f64.

e^-x I(x) as Chebyshev series up to 8, times sqrt(x) in 8 / x beyond; K with its logarithm apart up
to 2 (DLMF 10.31.1, 10.31.2), times e^x sqrt(x) in 2 / x beyond.
"""

from math import log

from lamina.codegen.vector_math import chebyshev_modified_bessel as c
from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder

SMALL_I = (c.I0_SMALL, c.I1_SMALL)
LARGE_I = (c.I0_LARGE, c.I1_LARGE)
SMALL_K = (c.K0_SMALL, c.K1_SMALL)
LARGE_K = (c.K0_LARGE, c.K1_LARGE)


def _scaled_i(b: SpecialBuilder, x: Value, order: int) -> Value:
    """e^-|x| I(x)."""
    magnitude = b.abs(x)
    far = magnitude > 8.0
    small = b.select(far, 1.0, magnitude)
    near = b.chebyshev(b.fma(small, 0.25, -1.0), SMALL_I[order])
    large = b.select(far, magnitude, 16.0)
    distant = b.chebyshev(16.0 / large - 1.0, LARGE_I[order]) / b.sqrt(large)
    if order:
        near = near * small
    result = b.select(far, distant, near)
    if order:
        result = b.select(x < 0.0, -result, result)
    return b.select(x.is_nan(), x, result)


def bessel_i0e(b: SpecialBuilder, x: Value) -> Value:
    """e^-|x| I_0(x)."""
    return _scaled_i(b, x, 0)


def bessel_i1e(b: SpecialBuilder, x: Value) -> Value:
    """e^-|x| I_1(x), odd."""
    return _scaled_i(b, x, 1)


def bessel_i0(b: SpecialBuilder, x: Value) -> Value:
    """I_0(x)."""
    result = b.apply("exp", b.abs(x)) * b.apply("bessel_i0e", x)
    return b.select(b.abs(x).equals(float("inf")), float("inf"), result)


def bessel_i1(b: SpecialBuilder, x: Value) -> Value:
    """I_1(x), odd."""
    result = b.apply("exp", b.abs(x)) * b.apply("bessel_i1e", x)
    return b.select(b.abs(x).equals(float("inf")), x, result)


def _second_kind(b: SpecialBuilder, x: Value, order: int, scaled: bool) -> Value:
    """inf at 0, NaN for negative x."""
    far = x > 2.0
    small = b.select(far, 1.0, x)
    exponential = b.apply("exp", small)
    first = b.apply("bessel_i1e" if order else "bessel_i0e", small) * exponential
    logarithm = b.apply("log", small) - log(2.0)
    rest = b.chebyshev(b.fma(small * small, 0.5, -1.0), SMALL_K[order])
    near = b.fma(logarithm, first, rest / small) if order else rest - logarithm * first
    large = b.select(far, x, 4.0)
    distant = b.chebyshev(4.0 / large - 1.0, LARGE_K[order]) / b.sqrt(large)
    if scaled:
        near = near * exponential
    else:
        distant = distant * b.apply("exp", -large)
    result = b.select(far, distant, near)
    result = b.select(x.equals(0.0), float("inf"), result)
    return b.select(x >= 0.0, result, float("nan"))


def modified_bessel_k0(b: SpecialBuilder, x: Value) -> Value:
    """K_0(x)."""
    return _second_kind(b, x, 0, scaled=False)


def modified_bessel_k1(b: SpecialBuilder, x: Value) -> Value:
    """K_1(x)."""
    return _second_kind(b, x, 1, scaled=False)


def scaled_modified_bessel_k0(b: SpecialBuilder, x: Value) -> Value:
    """e^x K_0(x)."""
    return _second_kind(b, x, 0, scaled=True)


def scaled_modified_bessel_k1(b: SpecialBuilder, x: Value) -> Value:
    """e^x K_1(x)."""
    return _second_kind(b, x, 1, scaled=True)
