"""exp, exp2, expm1: x = n ln2 + r with |r| <= ln2 / 2, a polynomial in r, and a scaling by 2^n.

Cody and Waite's two-part ln2 keeps r exact to working precision.
"""

from lamina.codegen.vector_math.builder import MathBuilder, Value

LOG2_E = 1.4426950408889634
#: ln2 as a short high part (n * high is exact) and the rest.
LN2_PARTS_32 = (0.693359375, -2.12194440e-4)
LN2_PARTS_64 = (0.6931471803691238, 1.9082149292705877e-10)

#: (e^r - 1 - r) / r^2, highest power first.
_EXP_32 = (
    0.0013745040632784367,
    0.00836895126849413,
    0.04166965186595917,
    0.166665181517601,
    0.49999988079071045,
)
_EXP_64 = (
    2.087111625123361e-09,
    2.5112611817337388e-08,
    2.755741759400535e-07,
    2.755723299554416e-06,
    2.4801587155312948e-05,
    0.0001984126989854846,
    0.0013888888888967997,
    0.008333333333315986,
    0.041666666666666526,
    0.16666666666666685,
    0.5,
)
#: The same, fitted relative to e^r - 1.
_EXPM1_32 = (
    0.001386243267916143,
    0.008366679772734642,
    0.041667524725198746,
    0.16666541993618011,
    0.4999999701976776,
)
_EXPM1_64 = (
    1.6891594587650917e-10,
    2.091947147470628e-09,
    2.5049035463172607e-08,
    2.7557259283285923e-07,
    2.755732357984391e-06,
    2.4801587340552088e-05,
    0.00019841269838382595,
    0.0013888888888877462,
    0.008333333333334206,
    0.04166666666666668,
    0.16666666666666666,
    0.5,
)
#: (2^r - 1) / r, |r| <= 1/2.
_EXP2_32 = (
    0.00015238006017170846,
    0.0013391136890277267,
    0.009618841111660004,
    0.055503591895103455,
    0.24022644758224487,
    0.6931471824645996,
)
_EXP2_64 = (
    2.6633732948221953e-11,
    4.465887336843144e-10,
    7.054239355455903e-09,
    1.0177983417908088e-07,
    1.3215488580834757e-06,
    1.5252734041783143e-05,
    0.000154035303912216,
    0.0013333558146159863,
    0.0096181291076296,
    0.05550410866482295,
    0.2402265069591007,
    0.6931471805599453,
)


def reduce_ln2(b: MathBuilder, x: Value) -> tuple[Value, Value]:
    """(n, r): x = n ln2 + r, n a whole float."""
    n = b.nearest(x * LOG2_E)
    high, low = LN2_PARTS_32 if b.single else LN2_PARTS_64
    r = b.fma(n, -high, x)
    return n, b.fma(n, -low, r)


def exp(b: MathBuilder, x: Value) -> Value:
    """e^x; overflow gives inf, underflow goes through the subnormals to 0."""
    x = b.at_least(b.at_most(x, b.pick(89.0, 710.0)), b.pick(-104.0, -746.0))
    n, r = reduce_ln2(b, x)
    tail = b.horner(r, _EXP_32 if b.single else _EXP_64)
    p = b.fma(r * r, tail, r) + 1.0
    return b.scale(p, n)


def exp2(b: MathBuilder, x: Value) -> Value:
    """2^x."""
    x = b.at_least(b.at_most(x, b.pick(129.0, 1025.0)), b.pick(-151.0, -1076.0))
    n = b.nearest(x)
    r = x - n
    p = b.horner(r, _EXP2_32 if b.single else _EXP2_64)
    return b.scale(b.fma(r, p, 1.0), n)


def expm1_parts(b: MathBuilder, r: Value) -> Value:
    """e^r - 1 for |r| <= ln2 / 2."""
    tail = b.horner(r, _EXPM1_32 if b.single else _EXPM1_64)
    return b.fma(r * r, tail, r)


def expm1(b: MathBuilder, x: Value) -> Value:
    """e^x - 1 without cancellation near 0: (e^r - 1) 2^n + (2^n - 1)."""
    y = b.at_least(b.at_most(x, b.pick(89.0, 710.0)), b.pick(-25.0, -50.0))
    n, r = reduce_ln2(b, y)
    p = expm1_parts(b, r)
    # One power less, doubled at the end: 2^n itself overflows where the result does not yet.
    power = b.power_of_two(n - 1.0)
    result = b.fma(p, power, power - 0.5) * 2.0
    small = b.abs(x) < b.pick(2.0**-25, 2.0**-54)
    return b.select(small, x, result)
