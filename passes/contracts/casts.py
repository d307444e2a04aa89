"""Casts between numbers, as MLIR checks them and xDSL's op definitions do not.

An extension widens, a truncation narrows, and vectors are cast lane by lane: LLVM takes nothing
else, and says so without a place.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ShapedType
from xdsl.ir import Attribute, Operation
from xdsl.utils.type import get_element_type_or_self

from lamina.passes.refusal import invalid

CASTS = frozenset(
    {
        arith.ExtFOp,
        arith.TruncFOp,
        arith.SIToFPOp,
        arith.UIToFPOp,
        arith.FPToSIOp,
        arith.FPToUIOp,
        arith.BitcastOp,
        arith.IndexCastOp,
    }
)
"""Ops of one operand and one result of another type."""


def verify_cast(op: Operation) -> None:
    """Raises InputError for one of `CASTS` that changes lanes, or goes the wrong way."""
    given, made = op.operands[0].type, op.results[0].type
    if _lanes(given) != _lanes(made):
        raise invalid(op, f"{given} and {made} have not as many elements")
    if isinstance(op, arith.ExtFOp | arith.TruncFOp):
        before, after = _bits(given), _bits(made)
        widens = isinstance(op, arith.ExtFOp)
        if before == after or (before < after) != widens:
            wanted = "wider" if widens else "narrower"
            raise invalid(op, f"gives {made} of {given}; its result has a {wanted} type")


def _lanes(kind: Attribute) -> tuple[int, ...] | None:
    return tuple(kind.get_shape()) if isinstance(kind, ShapedType) else None


def _bits(kind: Attribute) -> int:
    element = get_element_type_or_self(kind)
    assert isinstance(element, AnyFloat)
    return element.bitwidth
