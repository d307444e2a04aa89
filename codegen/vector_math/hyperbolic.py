"""tanh, sinh, cosh and their inverses."""

from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.exponential import expm1_parts, reduce_ln2

#: (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.4.
_TANH_32 = (
    0.01874149776995182,
    -0.05356118083000183,
    0.13331207633018494,
    -0.33333298563957214,
)
_TANH_64 = (
    -0.0001745124422275209,
    0.0005695001119224672,
    -0.0014521164734538074,
    0.0035917170037088495,
    -0.008863207343998074,
    0.02186948736366846,
    -0.05396825394056494,
    0.13333333333301153,
    -0.33333333333333204,
)


def tanh(b: MathBuilder, x: Value) -> Value:
    """(e^2|x| - 1) / (e^2|x| + 1) with the sign of x; near 0 an odd polynomial."""
    magnitude = b.abs(x)
    n, r = reduce_ln2(b, b.at_most(magnitude, b.pick(10.0, 20.0)) * 2.0)
    power = b.power_of_two(n)
    less_one = b.fma(expm1_parts(b, r), power, power - 1.0)
    large = less_one / (less_one + 2.0)
    square = x * x
    small = b.fma(x * square, b.horner(square, _TANH_32 if b.single else _TANH_64), x)
    return b.copysign(b.select(magnitude < 0.4, small, large), x)
