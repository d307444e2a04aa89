"""sigmoid."""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum
from lamina.codegen.vector_math.exponential import reduce_ln2


def sigmoid(b: MathBuilder, x: Value) -> Value:
    """1 / (1 + e^-x), below 0 e^x / (1 + e^x), so that nothing overflows.

    e^-|x| is (head + rest) 2^n. Below 0 the errors of head, sum and quotient would add up to more
    than 2 ulp, so the quotient is corrected for what head and the sum lost. Scaling comes last,
    into the subnormals.
    """
    below = x < 0.0
    n, r = reduce_ln2(b, b.at_least(-b.abs(x), b.pick(-104.0, -746.0)))
    tail = b.horner(r, c.EXP32 if b.single else c.EXP64)
    head, rest = fast_two_sum(b, 1.0, b.fma(r * r, tail, r))
    decay = b.scale(head, n)
    total, lost = fast_two_sum(b, 1.0, decay)
    quotient = b.select(below, head, b.like(x, 1.0)) / total
    zero = b.like(x, 0.0)
    missing = b.fma(quotient, -lost, b.select(below, rest, zero))
    # For so small a term 1 - decay / 2 is near enough to 1 / total.
    result = b.fma(missing, b.fma(decay, -0.5, b.like(x, 1.0)), quotient)
    return b.scale(result, b.select(below, n, zero))
