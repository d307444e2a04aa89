"""sinh, cosh, tanh and their inverses."""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math import piecewise_tanh
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product, two_sum
from lamina.codegen.vector_math.exponential import exp_parts, expm1_parts, reduce_ln2
from lamina.codegen.vector_math.logarithm import log, log_sum
from lamina.codegen.vector_math.piecewise import has_lookup, odd_by_pieces


def tanh(b: MathBuilder, x: Value) -> Value:
    """(e^2|x| - 1) / (e^2|x| + 1) with the sign of x; near 0 an odd polynomial.

    By pieces where numbers are looked up fast.
    """
    if has_lookup(b):
        return odd_by_pieces(b, x, piecewise_tanh.TANH)
    magnitude = b.abs(x)
    n, r = reduce_ln2(b, b.at_most(magnitude, b.pick(10.0, 20.0)) * 2.0)
    power = b.power_of_two(n)
    less_one = b.fma(expm1_parts(b, r), power, power - 1.0)
    large = less_one / (less_one + 2.0)
    square = x * x
    small = b.fma(x * square, b.horner(square, c.TANH32 if b.single else c.TANH64), x)
    return b.copysign(b.select(magnitude < 0.4, small, large), x)


def _half_exponential(b: MathBuilder, magnitude: Value) -> tuple[Value, Value, Value]:
    """(e^|x| / 2 as high + low, e^-|x| / 2)."""
    n, high, low = exp_parts(b, b.at_most(magnitude, b.pick(90.0, 711.0)))
    less = n - 1.0
    high, low = b.scale(high, less), b.scale(low, less)
    return high, low, 0.25 / (high + low)


def sinh(b: MathBuilder, x: Value) -> Value:
    """(e^|x| - e^-|x|) / 2 with the sign of x; up to 1 an odd polynomial."""
    magnitude = b.abs(x)
    high, low, inverse = _half_exponential(b, magnitude)
    difference, error = fast_two_sum(b, high, -inverse)
    # Beyond the largest finite result the error term is inf - inf.
    large = b.select(difference < float("inf"), difference + (error + low), difference)
    square = x * x
    small = b.fma(x * square, b.horner(square, c.SINH32 if b.single else c.SINH64), x)
    return b.copysign(b.select(magnitude < 1.0, small, large), x)


def cosh(b: MathBuilder, x: Value) -> Value:
    """(e^|x| + e^-|x|) / 2."""
    high, low, inverse = _half_exponential(b, b.abs(x))
    total, error = fast_two_sum(b, high, inverse)
    return b.select(total < float("inf"), total + (error + low), total)


def _root(b: MathBuilder, h: Value, low: Value) -> tuple[Value, Value]:
    """sqrt(h + low) as high + low, for h > 0."""
    s = b.sqrt(h)
    square, error = two_product(b, s, s)
    return s, ((h - square) - error + low) / (s * 2.0)


def asinh(b: MathBuilder, x: Value) -> Value:
    """ln(|x| + sqrt(x^2 + 1)) with the sign of x."""
    if b.single:
        return b.in_double(asinh, x)
    magnitude = b.abs(x)
    huge = magnitude > 2.0**500
    y = b.select(huge, 1.0, magnitude)
    square, square_low = two_product(b, y, y)
    total, error = two_sum(b, square, 1.0)
    root, root_low = _root(b, total, error + square_low)
    return b.copysign(_finish(b, magnitude, y, root, root_low, huge, 2.0**-28), x)


def _finish(
    b: MathBuilder,
    x: Value,
    y: Value,
    root: Value,
    root_low: Value,
    huge: Value,
    tiny: float,
) -> Value:
    """ln(y + root), or ln(2 x) where x is huge, or x itself where it is tiny."""
    total, error = two_sum(b, y, root)
    total = b.select(huge, x, total)
    error = b.select(huge, 0.0, error + root_low)
    result = log_sum(b, total, error)
    ln2 = 0.6931471805599453
    result = b.select(huge, result + ln2, result)
    result = b.select(x < float("inf"), result, x)
    return b.select(x < tiny, x, result) if tiny else result


def acosh(b: MathBuilder, x: Value) -> Value:
    """ln(x + sqrt(x^2 - 1)); NaN below 1."""
    if b.single:
        return b.in_double(acosh, x)
    huge = x > 2.0**500
    y = b.select(huge, 2.0, x)
    square, square_low = two_product(b, y, y)
    total, error = two_sum(b, square, -1.0)
    root, root_low = _root(b, total, error + square_low)
    result = _finish(b, x, y, root, root_low, huge, 0.0)
    result = b.select(x.equals(1.0), 0.0, result)
    return b.select(x < 1.0, float("nan"), result)


def atanh(b: MathBuilder, x: Value) -> Value:
    """ln((1 + x) / (1 - x)) / 2, the quotient with its error; inf at 1, NaN beyond."""
    if b.single:
        return _atanh_single(b, x)
    magnitude = b.abs(x)
    y = b.at_most(magnitude, 1.0 - 2.0**-53)
    above, above_low = fast_two_sum(b, 1.0, y)
    below, below_low = fast_two_sum(b, 1.0, -y)
    q = above / below
    product, product_low = two_product(b, q, below)
    q_low = ((above - product) - product_low + above_low - q * below_low) / below
    result = log_sum(b, q, q_low) * 0.5
    result = b.select(magnitude < 2.0**-28, magnitude, result)
    result = b.select(magnitude < 1.0, result, float("inf"))
    result = b.copysign(result, x)
    return b.select(magnitude <= 1.0, result, float("nan"))


def _atanh_single(b: MathBuilder, x: Value) -> Value:
    """As `atanh`; an odd polynomial up to 1/2."""
    magnitude = b.abs(x)
    square = x * x
    small = b.fma(magnitude * square, b.horner(square, c.ATANH32), magnitude)
    y = b.at_most(magnitude, 1.0 - 2.0**-24)
    # 1 - y is exact from 1/2 on; the error of 1 + y is beyond what the logarithm keeps.
    large = log(b, (y + 1.0) / (1.0 - y)) * 0.5
    result = b.select(magnitude < 0.5, small, large)
    result = b.select(magnitude < 1.0, result, float("inf"))
    return b.select(magnitude <= 1.0, b.copysign(result, x), float("nan"))
