"""x^y of f32 in two f32 numbers where one is too short, with lookups in sixteen numbers.

x = 2^e m with m on 11/16 .. 22/16. The upper four bits of m's fraction choose an inverse r that is
so short that t = m r - 1 is exact, below 1/16: log2 x = (e - log2 r) + ln(1 + t) / ln2. After
Tang's table-driven logarithm (P. T. P. Tang, ACM TOMS 16, 1990).
"""

from math import log, log2

from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product
from lamina.codegen.vector_math.exponential import NEAREST_SIXTEENTH, SIXTEENTH_POWERS
from lamina.codegen.vector_math.logarithm import INVERSE_LN2_32, split
from lamina.codegen.vector_math.piecewise import looked_up

LANES = 16
"""What a lookup takes, and `scale` by numbers that are not whole."""
LEAST_M = 0x3F300000
"""The bits of 11/16, from where on m is: the sixteen intervals meet there."""
INTERVALS_BELOW_ONE = range(6, 16)
LOG_SERIES = tuple((-1) ** k / (k + 3) for k in reversed(range(6)))
"""(ln(1 + t) - t + t^2 / 2) / t^3, to 2^-35 of t."""
EXP2_SERIES = (log(2) ** 3 / 6, log(2) ** 2 / 2, log(2))
"""(2^r - 1) / r for |r| up to 1/32, to 2^-26.7 of 2^r."""
_MOST_EXPONENT = 1024.0
"""Exponents beyond this give infinity, or 0 without a subnormal number on the way: see
`underflow.vanishing`."""


def _inverse(interval: int) -> float:
    """1 in the two intervals beside 1, so that the logarithm keeps its digits there."""
    if interval in (0, 15):
        return 1.0
    if interval in INTERVALS_BELOW_ONE:
        return round(16 / (0.5 + (interval + 0.5) / 32)) / 16
    return round(32 / (1 + (interval + 0.5) / 16)) / 32


INVERSES = tuple(map(_inverse, range(16)))
LOG_HIGH = tuple(round(-log2(r) * 2**16) / 2**16 for r in INVERSES)
"""Short enough for an exact sum with e."""
LOG_LOW = tuple(-log2(r) - high for r, high in zip(INVERSES, LOG_HIGH, strict=True))


def pow_by_pieces(b: MathBuilder, x: Value, y: Value) -> Value:
    """x^y for x > 0 in `LANES` lanes: special values are the caller's."""
    high, low = _log2(b, x)
    p, p_low = two_product(b, y, high)
    p_low = b.fma(y, low, p_low)
    limited = b.at_least(b.at_most(p, _MOST_EXPONENT), -_MOST_EXPONENT)
    p_low = b.select(limited.equals(p), p_low, 0.0)
    # The low part is not below the last place of the high one: it holds a term of the series.
    return _exp2(b, *fast_two_sum(b, limited, p_low))


def _log2(b: MathBuilder, x: Value) -> tuple[Value, Value]:
    """log2 x as high + low, to some 33 bits."""
    e, m = split(b, x, LEAST_M)
    interval = b.ashr(b.as_bits(m), b.mantissa - 4)

    t = b.fma(m, looked_up(b, interval, INVERSES), -1.0)
    square, square_low = two_product(b, t, t)
    natural, rest = fast_two_sum(b, t, square * -0.5)
    rest = b.fma(square_low, -0.5, rest)
    rest = b.fma(square * t, b.horner(t, LOG_SERIES), rest)
    scaled, scaled_low = two_product(b, natural, INVERSE_LN2_32[0])
    scaled_low = b.fma(rest, INVERSE_LN2_32[0], b.fma(natural, INVERSE_LN2_32[1], scaled_low))

    high, error = fast_two_sum(b, e + looked_up(b, interval, LOG_HIGH), scaled)
    return high, error + (scaled_low + looked_up(b, interval, LOG_LOW))


def _exp2(b: MathBuilder, x: Value, low: Value) -> Value:
    """2^(x + low)."""
    marked = x + NEAREST_SIXTEENTH
    n = marked - NEAREST_SIXTEENTH
    r = (x - n) + low
    power = looked_up(b, b.as_bits(marked), SIXTEENTH_POWERS)
    return b.scale(b.fma(power * r, b.horner(r, EXP2_SERIES), power), n)
