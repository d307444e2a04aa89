"""log, log2, log10, log1p."""

from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.exponential import LN2_PARTS_32

#: (log(1 + f) - f + f^2 / 2) / f^3 on sqrt(1/2) - 1 .. sqrt(2) - 1.
_LOG_32 = (
    -0.07353802770376205,
    0.12615187466144562,
    -0.13203458487987518,
    0.14228099584579468,
    -0.16621315479278564,
    0.1999976634979248,
    -0.2500085234642029,
    0.3333335518836975,
)


def split(b: MathBuilder, x: Value) -> tuple[Value, Value]:
    """(e, m): x = 2^e m with m in sqrt(1/2) .. sqrt(2), for positive finite x; e a whole float."""
    smallest = b.pick(2.0**-126, 2.0**-1022)
    lift = b.mantissa + 1
    tiny = x < smallest
    bits = b.as_bits(b.select(tiny, x * 2.0**lift, x))
    root_half = 0x3F3504F3 if b.single else 0x3FE6A09E667F3BCD
    exponent = b.ashr(b.sub(bits, root_half), b.mantissa)
    m = b.as_float(b.sub(bits, b.shl(exponent, b.mantissa)))
    e = b.to_float(exponent)
    return b.select(tiny, e - float(lift), e), m


def special_log(b: MathBuilder, x: Value, result: Value) -> Value:
    """`result` but -inf at 0, inf at inf, NaN for negative x and NaN."""
    infinity = float("inf")
    result = b.select(x < infinity, result, x)
    result = b.select(x.equals(0.0), -infinity, result)
    return b.select(x < 0.0, float("nan"), result)


def log(b: MathBuilder, x: Value) -> Value:
    """ln x."""
    e, m = split(b, x)
    f = m - 1.0
    square = f * f
    high, low = LN2_PARTS_32
    tail = b.fma(f * square, b.horner(f, _LOG_32), e * low)
    tail = b.fma(square, -0.5, tail)
    return special_log(b, x, b.fma(e, high, f + tail))
