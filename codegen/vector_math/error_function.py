"""erf, erfc."""

from lamina.codegen.vector_math.builder import MathBuilder, Value

#: erf(x) / x - 1 in x^2 for |x| <= 1.
_SMALL_32 = (
    7.842288323445246e-05,
    -0.0008006793214008212,
    0.005187962669879198,
    -0.026853643357753754,
    0.1128358244895935,
    -0.3761262595653534,
    0.12837916612625122,
)
#: log2(erfc(x)) for 1 <= x <= 3.95.
_LARGE_32 = (
    0.00027257087640464306,
    -0.004289243370294571,
    0.03165480121970177,
    -0.14906875789165497,
    -0.9202762246131897,
    -1.626274585723877,
    -0.00043525249930098653,
)
#: 2^r on |r| <= 1/2 to 2^-24.
_EXP2_32 = (
    0.001322890748269856,
    0.009671700187027454,
    0.0555085688829422,
    0.24022237956523895,
    0.6931468844413757,
    1.0,
)


def erf(b: MathBuilder, x: Value) -> Value:
    """Odd polynomial up to 1; above, 1 - 2^q(|x|) with q the logarithm of erfc."""
    magnitude = b.abs(x)
    small = b.fma(x, b.horner(x * x, _SMALL_32), x)
    clamped = b.at_most(magnitude, 3.95)
    q = b.horner(clamped, _LARGE_32)
    n = b.nearest(q)
    p = b.horner(q - n, _EXP2_32)
    large = b.copysign(1.0 - p * b.power_of_two(n), x)
    return b.select(magnitude > 1.0, large, small)
