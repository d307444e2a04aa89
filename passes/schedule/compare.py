"""Comparisons of two scalars, or of two vectors lane by lane."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, VectorType, i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.scalar_ops import binary_op, compare_op, predicate_number
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
        return emit.add(compare_op(left, right, predicate))
    properties = {"predicate": predicate_number(predicate, is_float=is_float)}
    made = vector_of(i1, lanes_of(kind))
    return emit.add(plain_op(CmpfOp if is_float else CmpiOp, (left, right), (made,), properties))


def also(emit: Emitter, known: SSAValue | None, more: SSAValue) -> SSAValue:
    """Whether both hold, lane by lane; `known` is None where nothing else has to."""
    return more if known is None else emit.add(binary_op(arith.AndIOp, known, more))
