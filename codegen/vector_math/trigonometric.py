"""sin, cos, tan: x = q pi/2 + r with |r| <= pi/4, polynomials in r, chosen by q modulo 4.

Up to 2^20 (f32: 2^22) r comes from x - q pi/2 in two or three parts (Cody and Waite); beyond, from
192 bits of 2/pi at the exponent of x (Payne and Hanek), lane by lane in integers. In f32, up to
2^15, x = q pi + r with |r| <= pi/2: one polynomial, and no choice between two.
"""

from functools import partial

from lamina.codegen.vector_math import coefficients as c
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.codegen.vector_math.compensated import fast_two_sum, two_product, two_sum
from lamina.codegen.vector_math.pi_reduction import reduce_lanes
from lamina.codegen.vector_math.special_builder import call

TWO_OVER_PI = 0.6366197723675814
PI_HALF_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
#: The same in f32.
PI_HALF_PARTS_32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)

ONE_OVER_PI = 0.3183098861837907

NEAREST_32 = 1.5 * 2.0**23
"""Added to a small f32 it leaves the nearest integer in the last bits."""

Reduced = tuple[Value, Value, Value]


def _reduce_short(b: MathBuilder, x: Value) -> Reduced:
    """(q, r, 0) with r good enough for an f32 result."""
    q = b.nearest(x * TWO_OVER_PI)
    if b.fused:
        r = b.fma(q, -PI_HALF_PARTS[0], x)
    else:
        product, error = two_product(b, q, PI_HALF_PARTS[0])
        r = (x - product) - error
    return q, b.fma(q, -PI_HALF_PARTS[1], r), b.const(0.0)


def _reduce_long(b: MathBuilder, x: Value) -> Reduced:
    """(q, r, r_low)."""
    q = b.nearest(x * TWO_OVER_PI)
    product, product_low = two_product(b, q, PI_HALF_PARTS[0])
    t = x - product
    r, low = two_sum(b, t, -product_low)
    next_, next_low = two_product(b, q, PI_HALF_PARTS[1])
    r, more = two_sum(b, r, -next_)
    low = (low + more) - b.fma(q, PI_HALF_PARTS[2], next_low)
    r, low = fast_two_sum(b, r, low)
    return q, r, low


def _reduce(b: MathBuilder, x: Value, short: bool) -> Reduced:
    usual = (_reduce_short if short else _reduce_long)(b, x)
    far = b.abs(x) > (2.0**22 if short else 2.0**20)
    q, r, low = b.where_any(far, usual, lambda: reduce_lanes(b, x, far, usual))
    return q, r, low


def _sin_cos(b: MathBuilder, r: Value, low: Value) -> tuple[Value, Value]:
    z = r * r
    sine = r + b.fma(r * z, b.horner(z, c.SIN64), low * b.fma(z, -0.5, 1.0))
    half = z * 0.5
    one_less, error = fast_two_sum(b, 1.0, -half)
    _, half_low = two_product(b, r, r)
    error = error - half_low * 0.5
    cosine = one_less + b.fma(z * z, b.horner(z, c.COS64), b.fma(-r, low, error))
    return sine, cosine


def _quarter(b: MathBuilder, q: Value) -> tuple[Value, Value]:
    """(q is odd, q modulo 4 as integers)."""
    whole = b.to_int(b.fma(b.nearest(q * 0.25), -4.0, q))
    return b.icmp("ne", b.both(whole, 1), 0), whole


def _wave(b: MathBuilder, x: Value, shift: int, short: bool) -> Value:
    """sin(x + shift pi/2)."""
    q, r, low = _reduce(b, x, short)
    sine, cosine = _sin_cos(b, r, low)
    value = _quadrant(b, q, sine, cosine, shift)
    return b.select(b.abs(x) < float("inf"), value, float("nan"))


def _quadrant(b: MathBuilder, q: Value, sine: Value, cosine: Value, shift: int) -> Value:
    """What sin(r + (q + shift) pi/2) is of sin r and cos r."""
    odd, whole = _quarter(b, q)
    if shift:
        whole = b.add(whole, shift)
        odd = b.xor(odd, True)
    value = b.select(odd, cosine, sine)
    negative = b.icmp("ne", b.both(whole, 2), 0)
    return b.select(negative, -value, value)


def _tangent(b: MathBuilder, x: Value, short: bool) -> Value:
    q, r, low = _reduce(b, x, short)
    odd, _ = _quarter(b, q)
    sine, cosine = _sin_cos(b, r, low)
    value = b.select(odd, -cosine, sine) / b.select(odd, sine, cosine)
    return b.select(b.abs(x) < float("inf"), value, float("nan"))


def _single(b: MathBuilder, x: Value, shift: int) -> Value:
    """sin(x + shift pi/2) in f32; by way of f64 where a lane is beyond 2^15."""
    if not b.fused:
        return b.in_double(partial(_wave, shift=shift, short=True), x)
    in_double = partial(call, "cos_for_single" if shift else "sin_for_single")
    size = b.abs(x)
    far = b.xor(size < 2.0**15, True)
    near = _cos_single(b, size) if shift else _sin_single(b, x, size)
    found = b.where_any(far, [near], lambda: [b.select(far, b.in_double(in_double, x), near)])
    return found[0]


def _sin_single(b: MathBuilder, x: Value, size: Value) -> Value:
    """|x| = q pi + r; the sine of r with the sign of x, turned over where q is odd."""
    marked = b.fma(size, ONE_OVER_PI, NEAREST_32)
    r = _less_quarters(b, size, marked - NEAREST_32, 2.0)
    sign = b.both(b.as_bits(x), b.integer(-(2**31)))
    return _signed(b, _sin_of_half_turn(b, r), b.xor(sign, b.shl(b.as_bits(marked), 31)))


def _cos_single(b: MathBuilder, size: Value) -> Value:
    """|x| = (q + 1/2) pi - r; the sine of r, turned over where q is odd."""
    marked = b.fma(size, ONE_OVER_PI, -0.5) + NEAREST_32
    quarters = b.fma(marked - NEAREST_32, 2.0, 1.0)
    r = -_less_quarters(b, size, quarters, 1.0)
    return _signed(b, _sin_of_half_turn(b, r), b.shl(b.as_bits(marked), 31))


def _less_quarters(b: MathBuilder, x: Value, q: Value, scale: float) -> Value:
    """x - q scale pi/2 for x up to 2^15.

    Without its first rounding or nearly so: the first part of pi/2 has as many bits behind the
    point as x from 1 on, and only cos has a q that is not 0 below 1. The third part counts only
    where the result is so small that the second left it exact.
    """
    for part in PI_HALF_PARTS_32:
        x = b.fma(q, -scale * part, x)
    return x


def _sin_of_half_turn(b: MathBuilder, r: Value) -> Value:
    """sin r for |r| up to pi/2."""
    z = r * r
    # Without the rounding of z the result would be 2.1 units off where it is nearly 1.
    cube = b.fma(r, z, r * b.fma(r, r, -z))
    return b.fma(cube, b.horner(z, c.SIN32), r)


def _signed(b: MathBuilder, value: Value, sign: Value) -> Value:
    return b.as_float(b.xor(b.as_bits(value), sign))


def sin_for_single(b: MathBuilder, x: Value) -> Value:
    """The sine in f64, good enough for an f32 result."""
    return _wave(b, x, 0, short=True)


def cos_for_single(b: MathBuilder, x: Value) -> Value:
    """The cosine in f64, good enough for an f32 result."""
    return _wave(b, x, 1, short=True)


def tan_for_single(b: MathBuilder, x: Value) -> Value:
    """The tangent in f64, good enough for an f32 result."""
    return _tangent(b, x, short=True)


def sin(b: MathBuilder, x: Value) -> Value:
    """The sine; NaN at infinity; -0 at -0."""
    if b.single and b.fused:
        return _single(b, x, 0)
    result = _single(b, x, 0) if b.single else _wave(b, x, 0, short=False)
    return b.select(b.abs(x) < b.pick(2.0**-13, 2.0**-28), x, result)


def cos(b: MathBuilder, x: Value) -> Value:
    """The cosine; NaN at infinity."""
    return _single(b, x, 1) if b.single else _wave(b, x, 1, short=False)


def tan(b: MathBuilder, x: Value) -> Value:
    """The tangent; NaN at infinity; -0 at -0."""
    if b.single:
        result = b.in_double(partial(call, "tan_for_single"), x)
    else:
        result = _tangent(b, x, short=False)
    return b.select(b.abs(x) < b.pick(2.0**-13, 2.0**-28), x, result)
