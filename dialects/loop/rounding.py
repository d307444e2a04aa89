"""Roundings to half floats that only the type of a tensor asks for, not the program."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, UnitAttr
from xdsl.ir import Attribute, Operation

IMPLICIT = "lamina.implicit"
"""Attribute of a conversion to a half float that follows an op computed in f32.

Torch's eager mode rounds there, because the result has to be stored. A fused kernel need not.
Conversions that the program asks for do not have it, and always round.
"""


def is_half(kind: Attribute) -> bool:
    """Whether a type is f16 or bf16, which are computed in f32."""
    return isinstance(kind, BFloat16Type | Float16Type)


def mark_implicit(op: Operation) -> None:
    """Say that a conversion is not the program's own."""
    op.attributes[IMPLICIT] = UnitAttr()


def is_implicit(op: object) -> bool:
    """Whether an op is a rounding to a half float that need not be done inside a kernel."""
    return isinstance(op, arith.TruncFOp) and IMPLICIT in op.attributes
