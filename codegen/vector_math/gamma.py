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

#: The zeros of ln |gamma| that have a series of their own, as sums of two numbers.
LGAMMA_ZEROS = (
    (-2.4570247382208006, -3.7075610815513266e-17),
    (-2.7476826467274127, 9.055340329338315e-17),
    (-3.14358088834998, -2.1818179852331714e-16),
    (-3.955294284858598, -1.999428391746348e-17),
    (-4.039361839740537, 2.1143995503980602e-16),
)
#: Their intervals, as in `fit_chebyshev.py`.
LGAMMA_INTERVALS = (
    (-2.625, -2.3125),
    (-2.8125, -2.625),
    (-3.21875, -3.078125),
    (-3.96875, -3.9375),
    (-4.0625, -4.015625),
)
#: From here on no number lies so near to a pole that ln |gamma| is small.
LAST_ZERO = 20
DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)


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
    """ln |gamma(x)|; inf at the poles and at +-inf. Between -2 and -20 by `_beside_poles`."""
    usual = lgamma_for_single(b, x)
    beside = b.both(x < -1.5, x > -LAST_ZERO - 0.5)
    beside = b.both(beside, usual < float("inf"))
    return b.where_any(beside, [usual], lambda: [b.select(beside, _beside_poles(b, x), usual)])[0]


def lgamma_for_single(b: SpecialBuilder, x: Value) -> Value:
    """ln |gamma(x)|, precise enough to be rounded to f32; inf at the poles and at +-inf.

    Chebyshev series near the zeros 1 and 2; the recurrence from below 1/2 up, and from 8 down to 3,
    where its terms have one sign; Stirling's series from 8 (DLMF 5.11.1); below 0 reflection,
    which cancels beside zeros.
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
    result = b.select(result.equals(0.0), 0.0, result)
    return b.select(infinite, float("inf"), result)


def _beside_poles(b: SpecialBuilder, x: Value) -> Value:
    """ln |gamma(x)| for -LAST_ZERO - 1/2 < x < -3/2.

    With x = t - n and |t| <= 1/2, gamma(x) is gamma(1 + t) over t (t - 1) ... (t - n), of size
    |t| n! (1 - t) (1 - t/2) ... (1 - t/n). The zeros lie where both are near 1: the distance of the
    latter from 1 is found without a sum of large logarithms.
    """
    whole = b.nearest(x)
    t, n = x - whole, -whole
    factorial, rest = b.const(1.0), b.const(0.0)
    for k in range(1, LAST_ZERO + 1):
        taken = n >= float(k)
        factorial = b.select(taken, factorial * float(k), factorial)
        rest = b.select(taken, b.fma(t * (-1.0 / k), rest + 1.0, rest), rest)
    size = b.abs(t)
    above = b.fma(size, factorial, -1.0)
    above = b.fma(above, rest, above + rest)
    product = size * factorial * (rest + 1.0)
    logarithm = b.select(above < -0.5, b.apply("log", product), b.apply("log1p", above))
    result = t * b.chebyshev(t * 2.0, c.LGAMMA_ONE) - logarithm
    near = x > LGAMMA_INTERVALS[-1][0]
    return b.where_any(near, [result], lambda: [_at_zeros(b, x, result)])[0]


def _at_zeros(b: SpecialBuilder, x: Value, result: Value) -> Value:
    """`result`, or what the series of the zeros have in their intervals."""
    series = (
        c.LGAMMA_ZERO_0,
        c.LGAMMA_ZERO_1,
        c.LGAMMA_ZERO_2,
        c.LGAMMA_ZERO_3,
        c.LGAMMA_ZERO_4,
    )
    rows = zip(LGAMMA_ZEROS, LGAMMA_INTERVALS, series, strict=True)
    for (zero, below), (low, high), coefficients in rows:
        place = (x - (low + high) / 2) * (2 / (high - low))
        near = (x - zero - below) * b.chebyshev(place, coefficients)
        result = b.select(b.both(x >= low, x < high), near, result)
    return result


def digamma(b: SpecialBuilder, x: Value) -> Value:
    """The derivative of ln gamma; -inf at 0, inf at -0, NaN at the other poles.

    Reflection below 0 (DLMF 5.5.4), a series between 1 and 2, else recurrence and the asymptotic
    series (5.11.2).
    """
    mirrored = x < 0.0
    first = b.select(mirrored, 1.0 - x, x)
    y, total = first, b.const(0.0)
    for _ in range(10):
        below = y < 10.0
        total = b.select(below, total - 1.0 / y, total)
        y = b.select(below, y + 1.0, y)
    inverse = 1.0 / y
    square = inverse * inverse
    tail = b.fma(square, b.horner(square, DIGAMMA), inverse * 0.5)
    tail = b.select(y < float("inf"), tail, 0.0)
    result = b.apply("log", y) - tail + total
    # Between 0 and 2 by the series on 1 .. 2, which has the zero as a factor.
    small = first < 1.0
    z = b.select(small, first + 1.0, first)
    factor = z - DIGAMMA_ZERO[0] - DIGAMMA_ZERO[1]
    near = factor * b.chebyshev(z * 2.0 - 3.0, c.DIGAMMA_ONE)
    near = b.select(small, near - 1.0 / first, near)
    result = b.select(first <= 2.0, near, result)
    fraction = x - b.nearest(x)
    cotangent = pi / b.apply("tan", fraction * pi)
    result = b.select(mirrored, result - cotangent, result)
    pole = b.both(mirrored, fraction.equals(0.0))
    result = b.select(pole, float("nan"), result)
    at_zero = b.copysign(float("inf"), -x)
    return b.select(x.equals(0.0), at_zero, result)
