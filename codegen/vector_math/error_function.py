"""erf, erfc."""

from lamina.codegen.vector_math.builder import MathBuilder, Value

#: erf(x) / x in x^2 for |x| <= 1.
_SMALL_32 = (
    6.184927769936621e-05,
    -0.0007462146459147334,
    0.00511896563693881,
    -0.02681155875325203,
    0.11282329261302948,
    -0.37612465023994446,
    1.1283791065216064,
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
    0.0013391136890277267,
    0.009618841111660004,
    0.055503591895103455,
    0.24022644758224487,
    0.6931471824645996,
    1.0,
)


def erf(b: MathBuilder, x: Value) -> Value:
    """Odd polynomial up to 1; above, 1 - 2^q(|x|) with q the logarithm of erfc."""
    magnitude = b.abs(x)
    small = x * b.horner(x * x, _SMALL_32)
    clamped = b.at_most(magnitude, 3.95)
    q = b.horner(clamped, _LARGE_32)
    n = b.nearest(q)
    p = b.horner(q - n, _EXP2_32)
    large = b.copysign(1.0 - p * b.power_of_two(n), x)
    return b.select(magnitude > 1.0, large, small)
