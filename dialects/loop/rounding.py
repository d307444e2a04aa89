"""Roundings to half floats that only the type of a tensor asks for, not the program."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, UnitAttr
from xdsl.ir import Attribute, Operation

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.generic import GenericOp

IMPLICIT = "lamina.implicit"
"""Attribute of a conversion to a half float that follows an op computed in f32, and of the
conversions of its operands to f32.

Torch's eager mode rounds there, because the result has to be stored. A fused kernel need not.
Conversions that the program asks for do not have it, and always round.
"""

FLUSHED = "lamina.flushed"
"""Attribute of an op that may make zeros of subnormal results: a rounding to bf16 that only matrix
tiles read, which take them for zeros, as the instruction of x86 does that rounds; an exponential
of a softmax that only products read (`flush-exponentials`)."""


_HALF = frozenset({BFloat16Type, Float16Type})


def is_half(kind: Attribute) -> bool:
    """Whether a type is f16 or bf16, which are computed in f32."""
    return type(kind) in _HALF


def mark_implicit(op: Operation) -> None:
    """Say that a conversion is not the program's own."""
    op.attributes[IMPLICIT] = UnitAttr()


def is_implicit(op: object) -> bool:
    """Whether an op is a rounding to a half float that need not be done inside a kernel."""
    return isinstance(op, arith.TruncFOp) and IMPLICIT in op.attributes


def is_widening(op: object) -> TypeGuard[GenericOp]:
    """Whether a nest only converts half floats to a wider type, element by element."""
    if not isinstance(op, GenericOp) or not op.is_pointwise or len(op.inputs) != 1:
        return False
    names = [inner.name for inner in block_ops(op.block)]
    return names == ["arith.extf", "loop.yield"] and op.pad_values == (None,)
