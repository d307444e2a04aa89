"""Indices of panels: a dimension in groups of so many, which lie apart from those in a group.

reads(%panels[d0 floordiv 32, d1, d0 mod 32] : memref<8x64x32xf32>)
"""

from __future__ import annotations

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

Panels = tuple[int, int]
"""A dimension, and how many of its positions are a panel."""


def panels_of(expr: AffineExpr) -> Panels | None:
    """Of the index that counts panels of a dimension, `d floordiv 32`; None for any other."""
    return _divided(expr, AffineBinaryOpKind.FloorDiv)


def lanes_of(expr: AffineExpr) -> Panels | None:
    """Of the index that counts positions within a panel, `d mod 32`; None for any other."""
    return _divided(expr, AffineBinaryOpKind.Mod)


def _divided(expr: AffineExpr, kind: AffineBinaryOpKind) -> Panels | None:
    if type(expr) is not AffineBinaryOpExpr or expr.kind != kind:
        return None
    if not isinstance(expr.lhs, AffineDimExpr) or not isinstance(expr.rhs, AffineConstantExpr):
        return None
    return expr.lhs.position, expr.rhs.value


__all__ = ["Panels", "lanes_of", "panels_of"]
