"""sigmoid.

By the definition it takes a division, and corrections for what is rounded on the way. Where one
instruction looks sixteen numbers up and another estimates reciprocals, Newton's step does both.
"""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum
from lamina.codegen.vector_math.exponential import (
    LN2_SIXTEENTHS,
    LOG2_E,
    NEAREST_SIXTEENTH,
    SIXTEENTH_POWERS,
    reduce_ln2,
)
from lamina.codegen.vector_math.piecewise import has_lookup, in_sixteens, looked_up
from lamina.codegen.vector_math.underflow import vanishing

_FAR = 64.0
"""Powers of two that e^-x and the result are kept nearer to 1 where the result may be subnormal;
1 + 2^-64 is 1."""
_LEAST = 110.0
"""e^-110 and all below are 0."""
_RECIPROCAL = "llvm.x86.avx512.rcp14.ps.512"


def sigmoid(b: MathBuilder, x: Value) -> Value:
    """1 / (1 + e^-x), below 0 e^x / (1 + e^x), so that nothing overflows.

    e^-|x| is (head + rest) 2^n. Below 0 the errors of head, sum and quotient would add up to more
    than 2 ulp, so the quotient is corrected for what head and the sum lost. Scaling comes last,
    into the subnormals; the sum is 1 long before.
    """
    if has_lookup(b) and b.count >= len(SIXTEENTH_POWERS):
        return in_sixteens(b, _sigmoid_by_sixteenths, x)
    below = x < 0.0
    n, r = reduce_ln2(b, b.at_least(-b.abs(x), vanishing(b) / LOG2_E))
    tail = b.horner(r, c.EXP32 if b.single else c.EXP64)
    head, rest = fast_two_sum(b, 1.0, b.fma(r * r, tail, r))
    decay = b.scale(head, b.at_least(n, -_FAR))
    total, lost = fast_two_sum(b, 1.0, decay)
    quotient = b.select(below, head, b.like(x, 1.0)) / total
    zero = b.like(x, 0.0)
    missing = b.fma(quotient, -lost, b.select(below, rest, zero))
    # For so small a term 1 - decay / 2 is near enough to 1 / total.
    result = b.fma(missing, b.fma(decay, -0.5, b.like(x, 1.0)), quotient)
    return b.scale(result, b.select(below, n, zero))


def _sigmoid_by_sixteenths(b: MathBuilder, x: Value) -> Value:
    """1 / (1 + e^-x) of f32: an estimate of 14 bits, and its error.

    e^-x is power - tail, where power = 2^n 2^(i/16) by lookup and tail = power (1 - e^r). The error
    of the estimate q, 1 - q - q power + q tail, needs neither their sum nor that with 1 rounded:
    what is left are the rounding of 1 - q, that of the powers, and that of the result.
    """
    x = b.at_least(b.at_most(x, 40.0), -_LEAST)  # 1 + e^-40 is 1
    marked = b.fma(x, -LOG2_E, NEAREST_SIXTEENTH)
    n = marked - NEAREST_SIXTEENTH
    high, low = LN2_SIXTEENTHS
    less = b.fma(n, low, b.fma(n, high, x))  # -r
    far = n > _FAR
    one = b.select(far, b.const(2.0**-_FAR), 1.0)
    power = looked_up(b, b.as_bits(marked), SIXTEENTH_POWERS)
    power = b.scale(power, b.select(far, n - _FAR, n))
    cubic, square = c.EXP32_SHORT
    slope = b.horner(less, (cubic, -square, 1.0))
    tail = power * less * slope
    estimate = _reciprocal(b, power - tail + one)
    error = b.fma(-one, estimate, 1.0)
    error = b.fma(tail, estimate, b.fma(-power, estimate, error))
    # What is 0 is no number that was rounded to it: some processors are slow at that.
    last = b.select(x > -_LEAST, one, 0.0)
    return b.fma(estimate, error, estimate) * last


def _reciprocal(b: MathBuilder, x: Value) -> Value:
    """1 / x to 14 bits; sixteen lanes."""
    kinds = f"{b.type}, {b.type}, i16"
    b.shared.declarations[_RECIPROCAL] = f"declare {b.type} @{_RECIPROCAL}({kinds})"
    text = f"call {b.type} @{_RECIPROCAL}({b.type} {x.text}, {b.type} zeroinitializer, i16 -1)"
    return b.emit(b.type, text)
