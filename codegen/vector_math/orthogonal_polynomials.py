"""Orthogonal polynomials of degree n at x, n a number of any type; in the operands' own precision.

Three-term recurrences (DLMF 18.9) from degree 0 and 1; Chebyshev's also by angles inside (-1, 1)
(18.5.1 - 18.5.4). Degrees below 0 give 0, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable

from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State

MOST_TRIPS = 1 << 24
Next = Callable[[Value, Value, Value], Value]
"""(p of degree k, of degree k - 1, k) -> of degree k + 1."""


def _recurrence(b: SpecialBuilder, n: Value, first: Value, following: Next) -> Value:
    """p_n from p_0 = 1, p_1 = first; NaN stops it."""

    def step(state: State) -> tuple[State, Value]:
        before, now, k = state
        value = following(now, before, k)
        k = k + 1.0
        more = b.both(k < n, b.invert(value.is_nan()))
        return [now, value, k], more

    one = b.const(1.0)
    result = b.repeat(MOST_TRIPS, [one, first, one], n > 1.0, step)[1]
    # What a billion steps would give is not known: no number.
    result = b.select(n > float(MOST_TRIPS), float("nan"), result)
    result = b.select(n > 1.0, result, first)
    result = b.select(n < 1.0, 1.0, result)
    return b.select(n < 0.0, 0.0, result)


def _is_even(b: SpecialBuilder, n: Value) -> Value:
    half = n * 0.5
    return b.floor(half).equals(half)


def _chebyshev(
    b: SpecialBuilder,
    x: Value,
    n: Value,
    first: Value,
    by_angle: Callable[[Value], Value],
    ends: tuple[Value, Value],
    from_degree: float,
) -> Value:
    n = b.trunc(n)
    wave = b.both(b.abs(x) < 1.0, n > from_degree)
    # Lanes that go by the angle need no steps.
    steps = b.select(wave, 0.0, n)
    twice = x + x
    result = _recurrence(b, steps, first, lambda p, before, k: b.fma(twice, p, -before))
    angle = b.apply("acos", b.select(b.abs(x) < 1.0, x, 0.5))
    result = b.select(wave, by_angle(angle), result)
    at_right, at_left = ends
    at_end = b.select(x > 0.0, at_right, b.select(_is_even(b, n), at_left, -at_left))
    result = b.select(b.abs(x).equals(1.0), at_end, result)
    return b.select(n < 0.0, 0.0, result)


def chebyshev_polynomial_t(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """T_n(x) = cos(n acos x)."""
    whole, one = b.trunc(n), b.const(1.0)
    wave = lambda angle: b.apply("cos", whole * angle)  # noqa: E731
    return _chebyshev(b, x, n, x, wave, (one, one), 6.0)


def chebyshev_polynomial_u(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """U_n(x) = sin((n + 1) acos x) / sin(acos x)."""
    more = b.trunc(n) + 1.0

    def wave(angle: Value) -> Value:
        return b.apply("sin", more * angle) / b.apply("sin", angle)

    return _chebyshev(b, x, n, x + x, wave, (more, more), 8.0)


def chebyshev_polynomial_v(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """V_n(x) = cos((n + 1/2) acos x) / cos(acos(x) / 2)."""
    whole, one = b.trunc(n), b.const(1.0)

    def wave(angle: Value) -> Value:
        return b.apply("cos", (whole + 0.5) * angle) / b.apply("cos", angle * 0.5)

    return _chebyshev(b, x, n, x + x - 1.0, wave, (one, whole + whole + 1.0), 8.0)


def chebyshev_polynomial_w(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """W_n(x) = sin((n + 1/2) acos x) / sin(acos(x) / 2)."""
    whole, one = b.trunc(n), b.const(1.0)

    def wave(angle: Value) -> Value:
        return b.apply("sin", (whole + 0.5) * angle) / b.apply("sin", angle * 0.5)

    return _chebyshev(b, x, n, x + x + 1.0, wave, (whole + whole + 1.0, one), 8.0)


def hermite_polynomial_h(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """H_{k+1} = 2 x H_k - 2 k H_{k-1}; NaN above degree 128 in f32, 512 in f64, as in torch."""
    n, twice = b.trunc(n), x + x
    result = _recurrence(b, n, twice, lambda p, before, k: b.fma(twice, p, -((k + k) * before)))
    return b.select(n > b.pick(128.0, 512.0), float("nan"), result)


def hermite_polynomial_he(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """He_{k+1} = x He_k - k He_{k-1}; NaN above degree 128 in f32, 512 in f64, as in torch."""
    n = b.trunc(n)
    result = _recurrence(b, n, x, lambda p, before, k: b.fma(x, p, -(k * before)))
    return b.select(n > b.pick(128.0, 512.0), float("nan"), result)


def laguerre_polynomial_l(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """(k + 1) L_{k+1} = (2 k + 1 - x) L_k - k L_{k-1}."""
    n, first = b.trunc(n), 1.0 - x

    def following(p: Value, before: Value, k: Value) -> Value:
        return b.fma(k + k + first, p, -(k * before)) / (k + 1.0)

    result = _recurrence(b, n, first, following)
    at_zero = b.select(n < 0.0, b.const(0.0), 1.0)
    return b.select(x.equals(0.0), at_zero, result)


def legendre_polynomial_p(b: SpecialBuilder, x: Value, n: Value) -> Value:
    """(k + 1) P_{k+1} = (2 k + 1) x P_k - k P_{k-1}."""
    n = b.trunc(n)

    def following(p: Value, before: Value, k: Value) -> Value:
        return b.fma((k + k + 1.0) * x, p, -(k * before)) / (k + 1.0)

    result = _recurrence(b, n, x, following)
    one = b.const(1.0)
    at_end = b.select(b.either(x > 0.0, _is_even(b, n)), one, -1.0)
    result = b.select(b.abs(x).equals(1.0), at_end, result)
    return b.select(n < 0.0, 0.0, result)
