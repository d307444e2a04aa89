"""Linear forms: affine expressions as coefficients per dimension plus a constant.

Fusion and scheduling compare and compose accesses in this form; division and remainder stay in it
only where the ranges of the dimensions make them exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from lamina.dialects.records import record


@record
class Linear:
    """`constant + sum(coefficient * dimension)`; terms hold no zero coefficients, sorted by dim."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0

    @staticmethod
    def of(terms: Mapping[int, int], constant: int = 0) -> Linear:
        """The form with these coefficients; zero ones are dropped."""
        return Linear(tuple(sorted((d, c) for d, c in terms.items() if c)), constant)

    @staticmethod
    def dim(position: int) -> Linear:
        """The form that is one dimension."""
        return Linear(((position, 1),), 0)

    @property
    def coefficients(self) -> dict[int, int]:
        """Coefficient by dimension, without zeros; a fresh dict."""
        return dict(self.terms)

    def coefficient(self, dim: int) -> int:
        """The coefficient of a dimension, 0 if it does not occur."""
        return self.coefficients.get(dim, 0)

    @property
    def pure_dim(self) -> int | None:
        """The dimension that the form is, if it is one alone."""
        if self.constant == 0 and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        return None

    def add(self, other: Linear) -> Linear:
        """The sum of two forms."""
        if not other.terms and not other.constant:
            return self
        if not self.terms and not self.constant:
            return other
        merged = self.coefficients
        for dim, coefficient in other.terms:
            merged[dim] = merged.get(dim, 0) + coefficient
        return Linear.of(merged, self.constant + other.constant)

    def scale(self, factor: int) -> Linear:
        """The form times an integer."""
        if factor == 1:
            return self
        return Linear.of({d: c * factor for d, c in self.terms}, self.constant * factor)

    def range(self, extents: Sequence[int]) -> tuple[int, int]:
        """Inclusive range over the (non-empty) domain."""
        low = high = self.constant
        for dim, coefficient in self.terms:
            reach = coefficient * (extents[dim] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def is_injective(self, extents: Sequence[int]) -> bool:
        """Whether every position gives another number: each step is longer than all smaller ones.

        False also for forms of which that is true in other ways.
        """
        return self.spacing(extents) > 0

    def spacing(self, extents: Sequence[int]) -> int:
        """A distance that numbers at different positions keep at least, 0 where none is known.

        1 for a form that is one number.
        """
        reach, least = 0, 1
        steps = [(abs(c), extents[d]) for d, c in self.terms if extents[d] > 1]
        for number, (step, extent) in enumerate(sorted(steps)):
            least = min(least, step - reach) if number else step
            reach += step * (extent - 1)
        return max(least, 0)

    def divide(self, divisor: int, extents: Sequence[int]) -> tuple[Linear, Linear] | None:
        """Exact quotient and remainder by a positive divisor, or None if they are not linear.

        Terms whose coefficient is a multiple of the divisor go to the quotient; the others must
        together stay within one period of the divisor.
        """
        quotient = {d: c // divisor for d, c in self.terms if c % divisor == 0}
        rest = Linear.of({d: c for d, c in self.terms if c % divisor}, self.constant)
        low, high = rest.range(extents)
        if low // divisor != high // divisor:
            return None
        period = low // divisor
        remainder = Linear(rest.terms, rest.constant - period * divisor)
        return Linear.of(quotient, period), remainder

    def to_expr(self) -> AffineExpr:
        """The affine expression of the form."""
        expr: AffineExpr | None = None
        for dim, coefficient in self.terms:
            term = AffineExpr.dimension(dim) * coefficient if coefficient != 1 else None
            term = AffineExpr.dimension(dim) if term is None else term
            expr = term if expr is None else expr + term
        if expr is None:
            return AffineExpr.constant(self.constant)
        return expr + self.constant if self.constant else expr


def linear(expr: AffineExpr, extents: Sequence[int]) -> Linear | None:
    """The linear form of an affine expression over a domain, or None if it has none."""
    match expr:
        case AffineDimExpr():
            return Linear.dim(expr.position)
        case AffineConstantExpr():
            return Linear((), expr.value)
        case AffineBinaryOpExpr():
            left, right = linear(expr.lhs, extents), linear(expr.rhs, extents)
            if left is None or right is None:
                return None
            return _combine(expr.kind, left, right, extents)
        case _:
            return None


def _combine(
    kind: AffineBinaryOpKind, left: Linear, right: Linear, extents: Sequence[int]
) -> Linear | None:
    if kind is AffineBinaryOpKind.Add:
        return left.add(right)
    if kind is AffineBinaryOpKind.Mul:
        if not right.terms:
            return left.scale(right.constant)
        return right.scale(left.constant) if not left.terms else None
    if right.terms or right.constant <= 0:
        return None
    parts = left.divide(right.constant, extents)
    if parts is None:
        return None
    if kind is AffineBinaryOpKind.FloorDiv:
        return parts[0]
    return parts[1] if kind is AffineBinaryOpKind.Mod else None


def value_range(expr: object, extents: Sequence[int]) -> tuple[int, int]:
    """Inclusive range of any affine expression over a non-empty domain (interval arithmetic)."""
    match expr:
        case AffineConstantExpr():
            return expr.value, expr.value
        case AffineDimExpr():
            return 0, extents[expr.position] - 1
        case AffineBinaryOpExpr():
            form = linear(expr, extents)
            if form is not None:
                return form.range(extents)
            return _interval(
                expr.kind, value_range(expr.lhs, extents), value_range(expr.rhs, extents)
            )
        case _:
            raise ValueError(f"no range for {expr}")


def _interval(
    kind: AffineBinaryOpKind, left: tuple[int, int], right: tuple[int, int]
) -> tuple[int, int]:
    divisor = right[0]
    match kind:
        case AffineBinaryOpKind.Add:
            return left[0] + right[0], left[1] + right[1]
        case AffineBinaryOpKind.Mul:
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case AffineBinaryOpKind.FloorDiv:
            return left[0] // divisor, left[1] // divisor
        case AffineBinaryOpKind.CeilDiv:
            return -(-left[0] // divisor), -(-left[1] // divisor)
        case AffineBinaryOpKind.Mod:
            whole = left[0] // divisor == left[1] // divisor
            return (left[0] % divisor, left[1] % divisor) if whole else (0, divisor - 1)
