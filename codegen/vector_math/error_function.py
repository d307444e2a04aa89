"""erf, erfc, erfcx."""

from math import sqrt

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math import piecewise_erf
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product
from lamina.codegen.vector_math.exponential import LOG2_E, exp, exp_parts
from lamina.codegen.vector_math.piecewise import has_lookup, odd_by_pieces
from lamina.codegen.vector_math.special_builder import SpecialBuilder
from lamina.codegen.vector_math.underflow import vanishing

#: 2^r on |r| <= 1/2 to 2^-23.
_EXP2_SHORT = (
    0.001322890748269856,
    0.009671700187027454,
    0.0555085688829422,
    0.24022237956523895,
    0.6931468844413757,
    1.0,
)


def erf(b: MathBuilder, x: Value) -> Value:
    """Odd polynomial up to 1, above it 1 - erfc(|x|) with the sign of x.

    By pieces where numbers are looked up fast.
    """
    if has_lookup(b):
        return odd_by_pieces(b, x, piecewise_erf.ERF)
    magnitude = b.abs(x)
    if b.single:
        small = b.fma(x, b.horner(x * x, c.ERF32_SMALL), x)
        # erfc = 2^q; its relative error is small in a result near 1
        q = b.horner(b.at_most(magnitude, 3.95), c.ERF32_LARGE)
        n = b.nearest(q)
        complement = b.horner(q - n, _EXP2_SHORT) * b.power_of_two(n)
    else:
        small = b.fma(x, b.horner(x * x, c.ERF64_SMALL), x)
        # An error of some units is small beside a result near 1.
        y = b.at_most(magnitude, 6.0)
        square, square_low = two_product(b, y, y)
        power = exp(b, -square)
        power = b.fma(power, -square_low, power)
        complement = power * b.horner((y - 4.0) / (y + 4.0), c.ERFCX64) / (y * 2.0 + 1.0)
    large = b.copysign(1.0 - complement, x)
    return b.select(magnitude > 1.0, large, small)


def _complement(b: MathBuilder, x: Value) -> Value:
    """erfc(x) as e^(-x^2) P(t) / (1 + 2 x), t = (x - 4) / (x + 4).

    For 0.47 <= x <= 10.1 in f32, 0 <= x <= 27.3 in f64, and where the power vanishes.
    """
    t = (x - 4.0) / (x + 4.0)
    square, square_low = two_product(b, x, x)
    n, high, low = exp_parts(b, -square, -square_low)
    below, below_low = fast_two_sum(b, 1.0, x * 2.0)
    p = b.horner(t, c.ERFCX32 if b.single else c.ERFCX64)
    q = p / below
    product, product_low = two_product(b, q, below)
    q_low = ((p - product) - product_low - q * below_low) / below
    value, value_low = two_product(b, high, q)
    value_low = value_low + b.fma(high, q_low, low * q)
    return b.scale(value + value_low, n)


#: (-1)^k (2k - 1)!! / 2^k, k = 5 .. 0 (DLMF 7.12.1).
_FAR = (-945 / 32, 105 / 16, -15 / 8, 0.75, -0.5, 1.0)


def erfcx(b: SpecialBuilder, x: Value) -> Value:
    """e^(x^2) erfc(x): the polynomial of erfc, asymptotic from 25; f64."""
    magnitude = b.abs(x)
    y = b.at_most(magnitude, 25.0)
    near = b.horner((y - 4.0) / (y + 4.0), c.ERFCX64) / (y * 2.0 + 1.0)
    inverse = 1.0 / magnitude
    far = b.horner(inverse * inverse, _FAR) * inverse * 0.5641895835477563
    positive = b.select(magnitude > 25.0, far, near)
    square, square_low = two_product(b, x, x)
    power = b.apply("exp", square)
    # e^(s + l) = e^s (1 + l); l is tiny, but where e^s overflows.
    power = b.select(square < 709.0, b.fma(power, square_low, power), float("inf"))
    negative = power * 2.0 - positive
    result = b.select(x < 0.0, negative, positive)
    return b.select(x.is_nan(), x, result)


def erfc(b: MathBuilder, x: Value) -> Value:
    """1 - erf(x), without cancellation for large x."""
    magnitude = b.abs(x)
    inner = 1.0 - b.fma(x, b.horner(x * x, c.ERF32_SMALL if b.single else c.ERF64_SMALL), x)
    # What is 0 is made of an exponent of which `scale` makes 0; 2 less e^-49 is 2.
    below = x < 0.0
    least = b.select(below, b.const(7.0), b.pick(10.1, 27.3))
    far = b.select(below, b.const(7.0), sqrt(-vanishing(b) / LOG2_E))
    outer = _complement(b, b.select(magnitude > least, far, magnitude))
    outer = b.select(below, 2.0 - outer, outer)
    return b.select(magnitude < 0.4769, inner, outer)
