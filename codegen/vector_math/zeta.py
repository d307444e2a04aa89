"""The Hurwitz zeta function; f64."""

from fractions import Fraction
from math import comb, factorial

from lamina.codegen.vector_math.builder import Value
from lamina.codegen.vector_math.special_builder import SpecialBuilder, State

TERMS = 12
#: Poles far on the left are reached one step at a time; NaN beyond this many.
MOST_STEPS = 1 << 24


def _bernoulli(count: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, count):
        total = sum((comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers


_B = _bernoulli(2 * TERMS + 1)
#: B(2k) / (2k)!, k = 1 .. TERMS.
EULER_MACLAURIN = tuple(float(_B[2 * k] / factorial(2 * k)) for k in range(1, TERMS + 1))


def zeta(b: SpecialBuilder, x: Value, q: Value) -> Value:
    """sum over k of (q + k)^-x: nine terms and more until q + k > 9, then Euler and Maclaurin.

    DLMF 25.11.5 with the Bernoulli sum of 25.2.9. inf at x = 1 and where q is 0, -1, ..., NaN for
    x < 1 and for q < 0 unless x is whole, as in Cephes.
    """
    infinity = float("inf")
    usable = b.both(x > 1.0, b.both(q < infinity, q > -float(MOST_STEPS - 16)))
    pole = b.both(q <= 0.0, b.floor(q).equals(q))
    usable = b.both(usable, b.invert(pole))
    # The other lanes go along with harmless numbers.
    safe_x, start = b.select(usable, x, 2.0), b.select(usable, q, 10.0)
    minus = -safe_x

    def step(state: State) -> tuple[State, Value]:
        total, a, count = state
        total = total + b.apply("pow", a, minus)
        a, count = a + 1.0, count + 1.0
        more = b.either(count < 9.0, a <= 9.0)
        return [total, a, count], more

    zero = b.const(0.0)
    everyone = zero.equals(0.0)
    total, w, _ = b.repeat(MOST_STEPS, [zero, start, zero], everyone, step)
    power = b.apply("pow", w, minus)
    total = total + power * w / (safe_x - 1.0) + power * 0.5
    factor, scale = safe_x, power / w
    inverse_square = 1.0 / (w * w)
    for k, coefficient in enumerate(EULER_MACLAURIN):
        term = factor * scale * coefficient
        # 0 * inf for huge x: only the first terms of the sum matter there.
        total = b.select(term.is_nan(), total, total + term)
        factor = factor * (safe_x + (2.0 * k + 1.0)) * (safe_x + (2.0 * k + 2.0))
        scale = scale * inverse_square
    result = b.select(usable, total, float("nan"))
    whole = b.floor(x).equals(x)
    result = b.select(b.both(q < 0.0, b.invert(whole)), float("nan"), result)
    result = b.select(b.both(q.equals(infinity), x > 1.0), 0.0, result)
    result = b.select(b.either(x.is_nan(), q.is_nan()), float("nan"), result)
    result = b.select(pole, infinity, result)
    result = b.select(x < 1.0, float("nan"), result)
    return b.select(x.equals(1.0), infinity, result)
