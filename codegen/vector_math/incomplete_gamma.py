"""The regularized incomplete gamma functions P(a, x) and Q(a, x); f64."""

from math import pi

from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.gamma import stirling_tail
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State

UNIFORM_FROM = 1e5
"""From here on Temme's expansion; below, series and fraction take at most some 9 sqrt(a) steps."""
MOST_TRIPS = 1 << 13
LARGEST = 1e16
"""From here on e^-x x^a is 0 for any a below `UNIFORM_FROM`; terms of larger x overflow."""
#: c_0(eta) of DLMF 8.12.12, highest power first, and c_1(0).
UNIFORM = (1 / 25515, -139 / 777600, 1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3)
UNIFORM_NEXT = -1 / 540
EPSILON = 2.0**-54
BIG = 2.0**52


def igamma(b: SpecialBuilder, a: Value, x: Value) -> Value:
    """P(a, x); NaN for negative arguments and for a = x = 0; at zeros and infinities as torch."""
    return _special(b, a, x, _parts(b, a, x)[0], 0.0)


def igammac(b: SpecialBuilder, a: Value, x: Value) -> Value:
    """Q(a, x) = 1 - P(a, x)."""
    return _special(b, a, x, _parts(b, a, x)[1], 1.0)


def _special(b: SpecialBuilder, a: Value, x: Value, result: Value, at_zero: float) -> Value:
    infinity, nan = float("inf"), float("nan")
    start, end = b.const(at_zero), b.const(1.0 - at_zero)
    result = b.select(b.either(a.is_nan(), x.is_nan()), nan, result)
    result = b.select(x.equals(infinity), end, result)
    endless = b.select(x.equals(infinity), nan, start)
    result = b.select(a.equals(infinity), endless, result)
    result = b.select(x.equals(0.0), start, result)
    result = b.select(a.equals(0.0), b.select(x > 0.0, end, nan), result)
    return b.select(b.either(a < 0.0, x < 0.0), nan, result)


def _parts(b: SpecialBuilder, a: Value, x: Value) -> tuple[Value, Value]:
    """P and Q where both arguments are positive and finite."""
    infinity = float("inf")
    usable = b.both(b.both(a > 0.0, a < infinity), b.both(x > 0.0, x < infinity))
    a, x = b.select(usable, a, 1.0), b.select(usable, x, 1.0)
    uniform = a > UNIFORM_FROM
    lower = b.either(x <= 1.0, x <= a)
    factor = _factor(b, a, x)
    near = b.invert(uniform)
    below = factor * _series(b, a, x, b.both(near, lower))
    fraction = _fraction(b, a, b.at_most(x, LARGEST), b.both(near, b.invert(lower)))
    above = factor * fraction
    p, q = _uniform(b, b.select(uniform, a, UNIFORM_FROM), x)
    return (
        b.select(uniform, p, b.select(lower, below, 1.0 - above)),
        b.select(uniform, q, b.select(lower, 1.0 - below, above)),
    )


def _uniform(b: SpecialBuilder, a: Value, x: Value) -> tuple[Value, Value]:
    """erfc(-+eta sqrt(a / 2)) / 2 -+ e^(-a eta^2 / 2) c(eta) / sqrt(2 pi a) (DLMF 8.12.3, 8.12.4).

    eta^2 / 2 = (x - a) / a - ln(x / a), eta with the sign of x - a.
    """
    off = (x - a) / a
    half_square = b.at_least(off - b.apply("log1p", off), 0.0)
    eta = b.copysign(b.sqrt(half_square * 2.0), off)
    near = b.at_least(b.at_most(eta, 0.5), -0.5)
    series = b.horner(near, UNIFORM) + UNIFORM_NEXT / a
    correction = b.apply("exp", -(a * half_square)) * series / b.sqrt(a * (2.0 * pi))
    argument = eta * b.sqrt(a * 0.5)
    p = b.apply("erfc", -argument) * 0.5 - correction
    q = b.apply("erfc", argument) * 0.5 + correction
    return p, q


def _factor(b: SpecialBuilder, a: Value, x: Value) -> Value:
    """x^a e^-x / gamma(a + 1).

    From a = 8 by Stirling's series, whose exponential meets that of x: what cancels is small.
    """
    small = b.apply("exp", a * b.apply("log", x) - x - b.apply("lgamma", a + 1.0))
    off = (x - a) / a
    exponent = a * (b.apply("log1p", off) - off)
    large = b.apply("exp", exponent - stirling_tail(b, b.select(a > 8.0, a, 8.0)))
    large = large / b.sqrt(a * (2.0 * pi))
    return b.select(a > 8.0, large, small)


def _series(b: SpecialBuilder, a: Value, x: Value, wanted: Value) -> Value:
    """sum x^n / ((a + 1) ... (a + n)) (DLMF 8.11.4)."""

    def step(state: State) -> tuple[State, Value]:
        total, term, r = state
        r = r + 1.0
        term = term * (x / r)
        total = total + term
        return [total, term, r], term > total * EPSILON

    one = b.const(1.0)
    return b.repeat(MOST_TRIPS, [one, one, a], wanted, step)[0]


def _fraction(b: SpecialBuilder, a: Value, x: Value, wanted: Value) -> Value:
    """a times the continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)).

    DLMF 8.9.2 in even form, by the recurrence of numerators and denominators, scaled down when
    they grow.
    """
    one, zero = b.const(1.0), b.const(0.0)
    z = x + 2.0 - a
    numerator, denominator = x + 1.0, z * x

    def step(state: State) -> tuple[State, Value]:
        p1, p2, q1, q2, y, z, count, value = state
        count, y, z = count + 1.0, y + 1.0, z + 2.0
        yc = y * count
        p = p1 * z - p2 * yc
        q = q1 * z - q2 * yc
        quotient = p / q
        nonzero = b.invert(q.equals(0.0))
        moved = b.abs(value - quotient)
        more = b.select(nonzero, moved, 1.0) > b.abs(quotient) * (2.0 * EPSILON)
        value = b.select(nonzero, quotient, value)
        down = b.select(b.abs(p) > BIG, b.const(1.0 / BIG), 1.0)
        return [p * down, p1 * down, q * down, q1 * down, y, z, count, value], more

    start = [numerator, one, denominator, x, 1.0 - a, z, zero, numerator / denominator]
    return a * b.repeat(MOST_TRIPS, start, wanted, step)[-1]
