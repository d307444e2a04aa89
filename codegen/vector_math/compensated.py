"""Sums and products with their rounding errors: what keeps a few bits beyond the precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamina.codegen.vector_math.builder import MathBuilder, Operand, Value


def two_sum(m: MathBuilder, a: Value, b: Operand) -> tuple[Value, Value]:
    """a + b as a rounded sum and its error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (m.like(a, b) - back)


def fast_two_sum(m: MathBuilder, a: Operand, b: Value) -> tuple[Value, Value]:
    """As `two_sum`, for |a| >= |b| or a = 0 (Dekker)."""
    a = m.like(b, a)
    total = a + b
    return total, b - (total - a)


def two_product(m: MathBuilder, a: Value, b: Operand) -> tuple[Value, Value]:
    """a * b as a rounded product and its error; without FMA by Veltkamp's splitting."""
    product = a * b
    b = m.like(a, b)
    if m.fused:
        return product, m.fma(a, b, -product)
    a_high, a_low = _halves(m, a)
    b_high, b_low = _halves(m, b)
    error = a_high * b_high - product + a_high * b_low + a_low * b_high
    return product, error + a_low * b_low


def _halves(m: MathBuilder, x: Value) -> tuple[Value, Value]:
    scaled = x * m.pick(2.0**12 + 1, 2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high
