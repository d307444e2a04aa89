"""exp, exp2, expm1: x = n ln2 + r with |r| <= ln2 / 2, a polynomial in r, and a scaling by 2^n.

Cody and Waite's two-part ln2 keeps r exact to working precision. Where an instruction looks sixteen
numbers up, exp takes n in sixteenths: r is shorter, and a polynomial of degree 3 will do.
"""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum
from lamina.codegen.vector_math.piecewise import (
    has_lookup,
    in_sixteens,
    looked_up,
    smaller_magnitude,
)
from lamina.codegen.vector_math.underflow import vanishing

LOG2_E = 1.4426950408889634
#: ln2 as a short high part (n * high is exact) and the rest.
LN2_PARTS_32 = (0.693359375, -2.12194440e-4)
LN2_PARTS_64 = (0.6931471803691238, 1.9082149292705877e-10)
#: ln2 as an f32 and the rest. A multiple of 1/16 times the high part, taken off x in one fused
#: step, is exact where x is not small.
LN2_SIXTEENTHS = (0.6931471824645996, -1.904654323148236e-09)
SIXTEENTH_POWERS = tuple(2.0 ** (i / 16) for i in range(16))
NEAREST_SIXTEENTH = 1.5 * 2.0**19
"""Added to a small f32 it leaves the nearest multiple of 1/16; the last four bits count them."""
_MOST_R = 0.03
"""More than any remainder of half a sixteenth of ln2: only remainders of infinities are larger."""


def reduce_ln2(b: MathBuilder, x: Value) -> tuple[Value, Value]:
    """(n, r): x = n ln2 + r, n a whole float."""
    n = b.nearest(x * LOG2_E)
    high, low = LN2_PARTS_32 if b.single else LN2_PARTS_64
    r = b.fma(n, -high, x)
    return n, b.fma(n, -low, r)


def exp(b: MathBuilder, x: Value) -> Value:
    """e^x; overflow gives inf, underflow goes through the subnormals to 0."""
    if has_lookup(b) and b.count >= len(SIXTEENTH_POWERS):
        return in_sixteens(b, _exp_by_sixteenths, x)
    x = b.at_least(b.at_most(x, b.pick(89.0, 710.0)), vanishing(b) / LOG2_E)
    n, r = reduce_ln2(b, x)
    tail = b.horner(r, c.EXP32 if b.single else c.EXP64)
    p = b.fma(r * r, tail, r) + 1.0
    return b.scale(p, n)


def exp_flushed(b: MathBuilder, x: Value) -> Value:
    """e^x, but 0 where that is no normal number: some processors are slow at making others."""
    least = b.pick(-87.33654, -708.3964185322641)  # the log of the least normal number
    if has_lookup(b) and b.count >= len(SIXTEENTH_POWERS):
        # The last instruction leaves these lanes out: attention of 1,024 keys of bf16 takes 0.95 of
        # the time so (a thread of a Sapphire Rapids).
        return b.select(x < least, 0.0, exp(b, x))
    return exp(b, b.select(x < least, float("-inf"), x))


def _exp_by_sixteenths(b: MathBuilder, x: Value) -> Value:
    """e^x of f32 as 2^n 2^(i/16) e^r, i by lookup; `scale` takes the whole part of n + i/16."""
    marked = b.fma(x, LOG2_E, NEAREST_SIXTEENTH)
    n = marked - NEAREST_SIXTEENTH
    high, low = LN2_SIXTEENTHS
    r = b.fma(n, -low, b.fma(n, -high, x))
    # Where n is infinite, r must not be NaN; where x is NaN, so is n.
    r = smaller_magnitude(b, r, _MOST_R)
    power = looked_up(b, b.as_bits(marked), SIXTEENTH_POWERS)
    slope = b.horner(r, (*c.EXP32_SHORT, 1.0))
    return b.scale(b.fma(power * r, slope, power), n)


def exp_parts(b: MathBuilder, x: Value, low: Value | None = None) -> tuple[Value, Value, Value]:
    """(n, high, low): e^(x + low) = (high + low) 2^n, about ten bits beyond working precision."""
    n, r = reduce_ln2(b, x)
    if low is not None:
        r, rest = fast_two_sum(b, r, low)
    tail = b.horner(r, c.EXP32 if b.single else c.EXP64)
    high, error = fast_two_sum(b, 1.0, r)
    tail = b.fma(r * r, tail, error)
    if low is not None:
        tail = b.fma(rest, high, tail)
    return n, high, tail


def exp2(b: MathBuilder, x: Value) -> Value:
    """2^x."""
    x = b.at_least(b.at_most(x, b.pick(129.0, 1025.0)), vanishing(b))
    n = b.nearest(x)
    r = x - n
    p = b.horner(r, c.EXP2_32 if b.single else c.EXP2_64)
    return b.scale(b.fma(r, p, 1.0), n)


def expm1_parts(b: MathBuilder, r: Value) -> Value:
    """e^r - 1 for |r| <= ln2 / 2."""
    tail = b.horner(r, c.EXPM1_32 if b.single else c.EXPM1_64)
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
