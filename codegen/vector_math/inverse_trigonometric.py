"""asin, acos, atan, atan2."""

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math import piecewise_atan
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product, two_sum
from lamina.codegen.vector_math.piecewise import by_pieces, has_lookup

PI = (3.141592653589793, 1.2246467991473532e-16)
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)
PI_QUARTER = (0.7853981633974483, 3.061616997868383e-17)
#: The same in f32.
PI_32 = (3.1415927410125732, -8.742277657347586e-08)
PI_HALF_32 = (1.5707963705062866, -4.371138828673793e-08)
PI_QUARTER_32 = (0.7853981852531433, -2.1855694143368964e-08)
TAN_PI_EIGHTH = 0.41421356237309503


def _quotient(
    b: MathBuilder, above: tuple[Value, Value], below: tuple[Value, Value]
) -> tuple[Value, Value]:
    """The quotient of two sums high + low, as high + low."""
    q = above[0] / below[0]
    product, product_low = two_product(b, q, below[0])
    rest = (above[0] - product) - product_low + above[1] - q * below[1]
    return q, rest / below[0]


def _atan_parts(b: MathBuilder, small: Value, large: Value) -> tuple[Value, Value]:
    """atan(small / large) as high + low, for 0 <= small <= large, large > 0.

    Above tan(pi/8): pi/4 + atan((small - large) / (small + large)).
    """
    quarter = PI_QUARTER_32 if b.single else PI_QUARTER
    past = small > large * TAN_PI_EIGHTH
    difference, difference_low = two_sum(b, small, -large)
    total, total_low = two_sum(b, small, large)
    above = b.select(past, difference, small), b.select(past, difference_low, 0.0)
    below = b.select(past, total, large), b.select(past, total_low, 0.0)
    q, q_low = _quotient(b, above, below)
    z = q * q
    tail = b.fma(q * z, b.horner(z, c.ATAN32 if b.single else c.ATAN64), q_low)
    base = b.select(past, b.const(quarter[0]), 0.0)
    base_low = b.select(past, b.const(quarter[1]), 0.0)
    high, low = fast_two_sum(b, base, q)
    return high, low + (tail + base_low)


def _from(
    b: MathBuilder, whole: tuple[float, float], parts: tuple[Value, Value]
) -> tuple[Value, Value]:
    """`whole` less high + low."""
    high, low = fast_two_sum(b, whole[0], -parts[0])
    return high, (low - parts[1]) + whole[1]


def _half(b: MathBuilder) -> tuple[float, float]:
    return PI_HALF_32 if b.single else PI_HALF


def atan(b: MathBuilder, x: Value) -> Value:
    """The arc tangent; +-pi/2 at infinity."""
    if has_lookup(b):
        return _atan_by_pieces(b, x)
    magnitude = b.abs(x)
    y = b.at_most(magnitude, b.pick(2.0**30, 2.0**60))
    steep = y > 1.0
    small = b.select(steep, 1.0, y)
    large = b.select(steep, y, 1.0)
    parts = _atan_parts(b, small, large)
    turned = _from(b, _half(b), parts)
    result = b.select(steep, turned[0] + turned[1], parts[0] + parts[1])
    result = b.select(magnitude < b.pick(2.0**-13, 2.0**-28), magnitude, result)
    return b.copysign(result, x)


def atan2(b: MathBuilder, y: Value, x: Value) -> Value:
    """The angle of (x, y) on -pi .. pi, with IEEE's values at zeros and infinities."""
    if has_lookup(b):
        return _atan2_by_pieces(b, y, x)
    infinity = float("inf")
    ay, ax = b.abs(y), b.abs(x)
    steep = ay > ax
    small, large = b.select(steep, ax, ay), b.select(steep, ay, ax)
    # Both infinite: 45 degrees. One: a quotient of 0. Both 0: the same.
    ends = large.equals(infinity)
    small = b.select(ends, b.select(small.equals(infinity), b.const(1.0), 0.0), small)
    large = b.select(b.either(ends, large.equals(0.0)), 1.0, large)
    # Away from overflow of the sum and from products that vanish.
    far, near = (60, 20) if b.single else (900, 100)
    down, up = large > 2.0**far, large < 2.0**-far
    factor = b.select(down, b.const(2.0**-near), b.select(up, b.const(2.0 ** (near + 20)), 1.0))
    parts = _atan_parts(b, small * factor, large * factor)
    turned = _from(b, _half(b), parts)
    parts = b.select(steep, turned[0], parts[0]), b.select(steep, turned[1], parts[1])
    beyond = _from(b, PI_32 if b.single else PI, parts)
    behind = b.icmp("slt", b.as_bits(x), 0)
    result = b.select(behind, beyond[0] + beyond[1], parts[0] + parts[1])
    result = b.copysign(result, y)
    broken = b.compare("fcmp uno", x, y)
    return b.select(broken, float("nan"), result)


def _atan_by_pieces(b: MathBuilder, x: Value) -> Value:
    y = b.abs(x)
    steep = y > 1.0
    angle = by_pieces(b, b.select(steep, 1.0 / y, y), piecewise_atan.ATAN)
    turned = (PI_HALF_32[1] - angle) + PI_HALF_32[0]
    return b.copysign(b.select(steep, turned, angle), x)


def _atan2_by_pieces(b: MathBuilder, y: Value, x: Value) -> Value:
    ay, ax = b.abs(y), b.abs(x)
    steep = ay > ax
    small, large = b.select(steep, ax, ay), b.select(steep, ay, ax)
    # Alike: 45 degrees, at infinity too. Both 0: the angle of a quotient of 0.
    alike = b.select(large.equals(0.0), b.const(0.0), 1.0)
    quotient = b.select(small.equals(large), alike, small / large)
    angle = by_pieces(b, quotient, piecewise_atan.ATAN)
    behind = b.icmp("slt", b.as_bits(x), 0)
    # A quarter turn less the angle, or more if behind; half a turn less; or the angle.
    angle = b.select(b.xor(steep, behind), -angle, angle)
    parts = zip(PI_HALF_32, PI_32, strict=True)
    base, rest = (b.select(steep, p, b.select(behind, b.const(q), 0.0)) for p, q in parts)
    return b.copysign(base + (rest + angle), y)


def _arcsine_parts(b: MathBuilder, x: Value) -> tuple[Value, Value, Value]:
    """(|x| > 1/2, asin(t) as high + low): t is |x|, or sqrt((1 - |x|) / 2) above 1/2."""
    magnitude = b.abs(x)
    outer = magnitude > 0.5
    z = b.select(outer, (1.0 - magnitude) * 0.5, magnitude * magnitude)
    root = b.sqrt(z)
    square, square_low = two_product(b, root, root)
    root_low = ((z - square) - square_low) / (root * 2.0)
    root_low = b.select(root > 0.0, root_low, 0.0)
    t = b.select(outer, root, magnitude)
    t_low = b.select(outer, root_low, 0.0)
    return outer, t, b.fma(t * z, b.horner(z, c.ASIN32 if b.single else c.ASIN64), t_low)


def asin(b: MathBuilder, x: Value) -> Value:
    """The arc sine; NaN outside -1 .. 1."""
    outer, high, low = _arcsine_parts(b, x)
    turned = _from(b, _half(b), (high * 2.0, low * 2.0))
    return b.copysign(b.select(outer, turned[0] + turned[1], high + low), x)


def acos(b: MathBuilder, x: Value) -> Value:
    """The arc cosine; NaN outside -1 .. 1."""
    outer, high, low = _arcsine_parts(b, x)
    negative = x < 0.0
    inner_high = b.copysign(high, x)
    inner_low = b.select(negative, -low, low)
    inner = _from(b, _half(b), (inner_high, inner_low))
    beyond = _from(b, PI_32 if b.single else PI, (high * 2.0, low * 2.0))
    twice = b.select(negative, beyond[0] + beyond[1], (high + low) * 2.0)
    return b.select(outer, twice, inner[0] + inner[1])
