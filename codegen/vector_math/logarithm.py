"""log, log2, log10, log1p."""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product, two_sum
from lamina.codegen.vector_math.exponential import LN2_PARTS_32, LN2_PARTS_64

INVERSE_LN2 = (1.4426950408889634, 2.0355273740931033e-17)
INVERSE_LN10 = (0.4342944819032518, 1.098319650216765e-17)
#: log10(2), its high part short enough for exact products with exponents.
LOG10_2 = (0.30102999566383914, 1.42050232272661e-13)
#: The same in f32.
INVERSE_LN2_32 = (1.4426950216293335, 1.925963033500011e-08)
INVERSE_LN10_32 = (0.4342944920063019, -1.0103049952192578e-08)
LOG10_2_32 = (0.301025390625, 4.605039066518657e-06)


def split(b: MathBuilder, x: Value, least: int | None = None) -> tuple[Value, Value]:
    """(e, m): x = 2^e m with m in sqrt(1/2) .. sqrt(2), for positive finite x; e a whole float.

    With `least`, m begins at the float of these bits instead.
    """
    smallest = b.pick(2.0**-126, 2.0**-1022)
    lift = b.mantissa + 1
    tiny = x < smallest
    bits = b.as_bits(b.select(tiny, x * 2.0**lift, x))
    if least is None:
        least = 0x3F3504F3 if b.single else 0x3FE6A09E667F3BCD
    exponent = b.ashr(b.sub(bits, least), b.mantissa)
    m = b.as_float(b.sub(bits, b.shl(exponent, b.mantissa)))
    e = b.to_float(exponent)
    return b.select(tiny, e - float(lift), e), m


def special_log(b: MathBuilder, x: Value, result: Value) -> Value:
    """`result` but -inf at 0, inf at inf, NaN for negative x and NaN."""
    infinity = float("inf")
    result = b.select(x < infinity, result, x)
    result = b.select(x.equals(0.0), -infinity, result)
    return b.select(x < 0.0, float("nan"), result)


def log_parts(b: MathBuilder, f: Value, f_low: Value | None = None) -> tuple[Value, Value]:
    """log(1 + f + f_low) as high + low, for f on sqrt(1/2) - 1 .. sqrt(2) - 1; f64.

    With s = f / (2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + 2 s^2 P(s^2)).
    """
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    rest = b.fma(z * 2.0, b.horner(z, c.LOG64), half_square)
    high, low = fast_two_sum(b, f, -half_square)
    low = b.fma(s, rest, low)
    if f_low is not None:
        # f_low / (1 + f), to the few bits that matter
        low = b.fma(f_low, b.fma(f, f - 1.0, 1.0), low)
    return high, low


def log(b: MathBuilder, x: Value) -> Value:
    """ln x."""
    return _log_single(b, x) if b.single else special_log(b, x, _log_double(b, x))


def _log_single(b: MathBuilder, x: Value) -> Value:
    e, m = split(b, x)
    f = m - 1.0
    high, low = LN2_PARTS_32
    return special_log(b, x, b.fma(e, high, f + b.fma(e, low, _tail_single(b, f))))


def _tail_single(b: MathBuilder, f: Value) -> Value:
    """log(1 + f) - f in f32."""
    square = f * f
    return b.fma(square, -0.5, f * square * b.horner(f, c.LOG32))


def _scaled_single(b: MathBuilder, f: Value, factor: tuple[float, float]) -> Value:
    """log(1 + f) times high + low, in f32."""
    value = f + _tail_single(b, f)
    return b.fma(value, factor[0], value * factor[1])


def _log_double(b: MathBuilder, x: Value, x_low: Value | None = None) -> Value:
    """ln(x + x_low) for positive finite x."""
    e, m = split(b, x)
    f_low = None
    if x_low is not None:
        f_low = x_low * b.power_of_two(-b.at_most(e, 1000.0))
    high, low = log_parts(b, m - 1.0, f_low)
    ln2_high, ln2_low = LN2_PARTS_64
    total, error = fast_two_sum(b, e * ln2_high, high)
    return total + (error + b.fma(e, ln2_low, low))


def log_sum(b: MathBuilder, x: Value, x_low: Value) -> Value:
    """ln(x + x_low) for positive finite x, f64, |x_low| at most half a unit of x."""
    return _log_double(b, x, x_low)


def log2(b: MathBuilder, x: Value) -> Value:
    """The logarithm to base 2; exact at powers of two."""
    e, m = split(b, x)
    if b.single:
        return special_log(b, x, e + _scaled_single(b, m - 1.0, INVERSE_LN2_32))
    v, v_low = _scaled(b, log_parts(b, m - 1.0), INVERSE_LN2)
    total, error = fast_two_sum(b, e, v)
    return special_log(b, x, total + (error + v_low))


def log10(b: MathBuilder, x: Value) -> Value:
    """The logarithm to base 10."""
    e, m = split(b, x)
    if b.single:
        high, low = LOG10_2_32
        small = b.fma(e, low, _scaled_single(b, m - 1.0, INVERSE_LN10_32))
        return special_log(b, x, b.fma(e, high, small))
    v, v_low = _scaled(b, log_parts(b, m - 1.0), INVERSE_LN10)
    total, error = fast_two_sum(b, e * LOG10_2[0], v)
    return special_log(b, x, total + (error + b.fma(e, LOG10_2[1], v_low)))


def _scaled(
    b: MathBuilder, parts: tuple[Value, Value], factor: tuple[float, float]
) -> tuple[Value, Value]:
    high, low = parts
    product, error = two_product(b, high, factor[0])
    return product, b.fma(low, factor[0], b.fma(high, factor[1], error))


def log1p(b: MathBuilder, x: Value) -> Value:
    """ln(1 + x): the rounding error of 1 + x goes along."""
    u, u_low = two_sum(b, x, 1.0)
    if b.single:
        return _log1p_single(b, x, u, u_low)
    result = special_log(b, u, _log_double(b, u, u_low))
    return b.select(b.abs(x) < 2.0**-54, x, result)


def _log1p_single(b: MathBuilder, x: Value, u: Value, u_low: Value) -> Value:
    e, m = split(b, u)
    f = m - 1.0
    f_low = u_low * b.power_of_two(-b.at_most(e, 120.0))
    low = b.fma(f_low, b.fma(f, f - 1.0, 1.0), _tail_single(b, f))
    high, ln2_low = LN2_PARTS_32
    result = b.fma(e, high, f + b.fma(e, ln2_low, low))
    result = special_log(b, u, result)
    return b.select(b.abs(x) < 2.0**-25, x, result)
