"""tanh, sinh, cosh and their inverses."""

from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.exponential import expm1_parts, reduce_ln2


def tanh(b: MathBuilder, x: Value) -> Value:
    """(e^2|x| - 1) / (e^2|x| + 1) with the sign of x; e^2|x| - 1 has no cancellation near 0."""
    magnitude = b.at_most(b.abs(x), b.pick(10.0, 20.0))
    n, r = reduce_ln2(b, magnitude * 2.0)
    power = b.power_of_two(n)
    less_one = b.fma(expm1_parts(b, r), power, power - 1.0)
    return b.copysign(less_one / (less_one + 2.0), x)
