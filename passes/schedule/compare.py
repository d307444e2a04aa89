"""Comparisons of two scalars, or of two vectors lane by lane."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, VectorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.vector_arith import CmpfOp, CmpiOp
from lamina.dialects.plain_ops import plain_op
from lamina.passes.schedule.emitter import Emitter, vector_of


def lanes_of(kind: Attribute) -> int:
    """Those of a vector; 1 of a scalar."""
    return kind.get_shape()[0] if isinstance(kind, VectorType) else 1


def element_of(kind: Attribute) -> Attribute:
    """The type in each lane of a vector; a scalar's own."""
    return kind.element_type if isinstance(kind, VectorType) else kind


def compare(emit: Emitter, left: SSAValue, right: SSAValue, predicate: str) -> SSAValue:
    """Whether a predicate of `arith.cmpi` or `arith.cmpf`, by its name, holds."""
    kind = left.type
    is_float = isinstance(element_of(kind), AnyFloat)
    if not isinstance(kind, VectorType):
        return emit.add((arith.CmpfOp if is_float else arith.CmpiOp)(left, right, predicate))
    names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    properties = {"predicate": _numbered(names.index(predicate))}
    made = vector_of(i1, lanes_of(kind))
    return emit.add(plain_op(CmpfOp if is_float else CmpiOp, (left, right), (made,), properties))


@cache
def _numbered(predicate: int) -> Attribute:
    return IntegerAttr(predicate, i64)
