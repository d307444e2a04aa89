"""Sums, differences and multiples of positions, as linear forms."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop.linear import Linear


def linear_arithmetic(op: Operation, forms: Mapping[SSAValue, Linear]) -> Linear | None:
    """What an integer op gives, if it is linear in operands whose forms are known."""
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return None
    left, right = forms.get(op.lhs), forms.get(op.rhs)
    if left is None or right is None:
        return None
    if isinstance(op, arith.AddiOp):
        return left.add(right)
    if isinstance(op, arith.SubiOp):
        return left.add(right.scale(-1))
    if right.terms:
        left, right = right, left
    if right.terms:
        return None
    return left.scale(right.constant) if right.constant else Linear(())
