"""rsqrt, cbrt, pow."""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product
from lamina.codegen.vector_math.exponential import LN2_PARTS_64, LOG2_E, exp_parts
from lamina.codegen.vector_math.logarithm import split
from lamina.codegen.vector_math.piecewise import has_lookup
from lamina.codegen.vector_math.power_by_pieces import LANES, pow_by_pieces
from lamina.codegen.vector_math.underflow import vanishing


def rsqrt(b: MathBuilder, x: Value) -> Value:
    """1 / sqrt(x): the CPU's 14-bit estimate and Newton's step, where it has one."""
    name = _estimate_name(b)
    if name is None:
        return 1.0 / b.sqrt(x)
    mask = f"i{max(8, b.count)}"
    zero = b.const(0.0)
    y = b.call(name, b.type, [x, zero], f", {mask} -1")
    for _ in range(1 if b.single else 2):
        error = b.fma(-(x * y), y, 1.0)
        better = b.fma(y * 0.5, error, y)
        # 0 and inf meet their inverse in `error`: the estimate is already right there.
        y = b.select(error.is_nan(), y, better)
    return y


def _estimate_name(b: MathBuilder) -> str | None:
    width = b.count * b.bits
    if not (b.target.has("avx512f") and b.target.has("avx512vl")) or width not in (128, 256, 512):
        return None
    return f"llvm.x86.avx512.rsqrt14.p{'s' if b.single else 'd'}.{width}"


def cbrt(b: MathBuilder, x: Value) -> Value:
    """2^q cbrt(a), a on 0.35 .. 2.83: a polynomial, then Halley's step twice."""
    if b.single:
        return b.in_double(cbrt, x)
    magnitude = b.abs(x)
    e, m = split(b, magnitude)
    q = b.nearest(e * (1.0 / 3.0))
    a = m * b.power_of_two(b.fma(q, -3.0, e))
    y = b.horner(a, c.CBRT64)
    for _ in range(2):
        square, square_low = two_product(b, y, y)
        cube, cube_low = two_product(b, square, y)
        excess = (cube - a) + b.fma(square_low, y, cube_low)
        y = y - y * excess / (cube * 2.0 + a)
    result = b.copysign(b.scale(y, q), x)
    # 0, inf and NaN are their own cube roots.
    ordinary = b.both(magnitude > 0.0, magnitude < float("inf"))
    return b.select(ordinary, result, x)


def pow(b: MathBuilder, x: Value, y: Value) -> Value:  # noqa: A001
    """x^y with C's special values: 1 for y = 0 or x = 1, NaN for negative x and broken y."""
    magnitude = b.abs(x)
    if has_lookup(b) and b.count == LANES:
        result = pow_by_pieces(b, magnitude, y)
    else:
        result = b.in_double(_pow_short, magnitude, y) if b.single else _pow_long(b, magnitude, y)
    infinity = float("inf")
    extreme = b.either(magnitude.equals(0.0), magnitude.equals(infinity))
    grows = b.xor(magnitude.equals(0.0), y > 0.0)
    limit = b.select(grows, b.const(infinity), 0.0)
    ordered = b.xor(y.is_nan(), True)
    result = b.select(b.both(extreme, ordered), limit, result)

    whole = b.nearest(y).equals(y)
    half = y * 0.5
    even = b.nearest(half).equals(half)
    result = b.select(b.either(whole, b.xor(x < 0.0, True)), result, float("nan"))
    minus_infinity = x.equals(-infinity)
    result = b.select(b.both(b.both(minus_infinity, ordered), b.xor(whole, True)), limit, result)
    negative = b.icmp("slt", b.as_bits(x), 0)
    flips = b.both(negative, b.both(whole, b.xor(even, True)))
    result = b.select(flips, -result, result)
    result = b.select(b.compare("fcmp uno", x, y), float("nan"), result)
    # (-1)^(+-inf) is 1 as well.
    endless = b.both(magnitude.equals(1.0), b.abs(y).equals(infinity))
    one = b.either(b.either(y.equals(0.0), x.equals(1.0)), endless)
    return b.select(one, 1.0, result)


def _pow_short(b: MathBuilder, x: Value, y: Value) -> Value:
    """f64 arithmetic that is good enough for an f32 result: 2^(y log2 x) to some 34 bits."""
    e, m = split(b, x)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    logarithm = b.fma(s * z, b.horner(z, c.LOG64_SHORT), s) * (2.0 * LOG2_E)
    exponent = y * (logarithm + e)
    # 2^-1023 is made as 0: no number below the least f32 is left to be rounded.
    exponent = b.at_least(b.at_most(exponent, 200.0), -1023.0)
    n = b.nearest(exponent)
    r = exponent - n
    return b.fma(r, b.horner(r, c.EXP2_64_SHORT), 1.0) * b.power_of_two(n)


def _pow_long(b: MathBuilder, x: Value, y: Value) -> Value:
    """f64, with a logarithm of some 64 bits."""
    high, low = _long_log(b, x)
    p, p_low = two_product(b, y, high)
    p_low = b.fma(y, low, p_low)
    limited = b.at_least(b.at_most(p, 1000.0), vanishing(b) / LOG2_E)
    p_low = b.select(limited.equals(p), p_low, 0.0)
    n, result, tail = exp_parts(b, limited, p_low)
    return b.scale(result + tail, n)


def _long_log(b: MathBuilder, x: Value) -> tuple[Value, Value]:
    """ln x as high + low: 2 s (1 + z P(z)), s = f / (2 + f), z = s^2, all in double-double."""
    e, m = split(b, x)
    f = m - 1.0
    d, d_low = fast_two_sum(b, 2.0, f)
    s = f / d
    product, product_low = two_product(b, s, d)
    s_low = ((f - product) - product_low - s * d_low) / d
    z, z_low = two_product(b, s, s)
    z_low = b.fma(s * 2.0, s_low, z_low)
    *tail, first = c.LOG64
    series, series_low = fast_two_sum(b, first, z * b.horner(z, tail))
    w, w_low = two_product(b, z, series)
    w_low = w_low + b.fma(z, series_low, z_low * series)
    a, a_low = two_product(b, s, w)
    a_low = a_low + b.fma(s, w_low, s_low * w)
    high, low = fast_two_sum(b, s, a)
    low = (low + (s_low + a_low)) * 2.0
    ln2_high, ln2_low = LN2_PARTS_64
    total, error = fast_two_sum(b, e * ln2_high, high * 2.0)
    low = error + b.fma(e, ln2_low, low)
    return fast_two_sum(b, total, low)
