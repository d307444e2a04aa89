"""The remainder of a division, exact for every pair of finite floats."""

from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State


def fmod(b: SpecialBuilder, x: Value, y: Value) -> Value:
    """x - trunc(x / y) * y without rounding, with the sign of x; NaN for infinite x or y = 0.

    A quotient of fewer digits than a float has takes one step of `_reduced`; any other is reduced
    by multiples 2^k * y first, two digits less than a float's at a time (as in long division).
    """
    size, divisor = b.abs(x), b.abs(y)
    infinity = float("inf")
    digits = b.mantissa - 1
    finite = b.both(size < infinity, divisor > 0.0)
    many = b.both(size / divisor >= 2.0**digits, finite)

    def step(state: State) -> tuple[State, Value]:
        (rest,) = state
        shift = b.sub(b.sub(_exponent(b, rest), _exponent(b, divisor)), digits)
        shift = b.select(b.icmp("sgt", shift, 0), shift, 0)
        rest = _reduced(b, rest, b.scale(divisor, b.to_float(shift)))
        return [rest], rest >= divisor

    def long_division() -> State:
        return b.repeat(16 if b.single else 48, [size], many, step)

    usual = _reduced(b, size, divisor)
    (rest,) = b.where_any(many, [usual], lambda: [b.select(many, long_division()[0], usual)])
    whole = b.both(divisor.equals(infinity), size < infinity)
    return b.copysign(b.select(whole, size, rest), x)


def _reduced(b: SpecialBuilder, size: Value, divisor: Value) -> Value:
    """The remainder of positive floats whose quotient is exact when truncated, or one too large."""
    quotient = b.trunc(size / divisor)
    rest = b.intrinsic("fma", -quotient, divisor, size)
    return b.select(rest < 0.0, rest + divisor, rest)


def _exponent(b: SpecialBuilder, x: Value) -> Value:
    """floor(log2(x)) + bias of positive floats, subnormal ones too."""
    tiny = x < 2.0 ** (1 - b.bias)
    up = b.mantissa + 1
    field = b.ashr(b.as_bits(b.select(tiny, x * 2.0**up, x)), b.mantissa)
    return b.select(tiny, b.sub(field, up), field)
