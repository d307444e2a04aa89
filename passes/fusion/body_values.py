"""The number that a pointwise body gives where some of its arguments are known numbers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.loop import YieldOp
from lamina.passes.loop.body_folding import Number, evaluated


def value_at(block: Block, arguments: Mapping[SSAValue, Attribute]) -> Number | None:
    """What a body of one result yields for these arguments, whatever the others are; None where
    that is not known."""
    known = {v: a for v, a in arguments.items() if isinstance(a, FloatAttr | IntegerAttr)}
    if not known:
        return None
    for op in block.ops:
        if isinstance(op, YieldOp):
            return known.get(op.values[0])
        if len(op.results) == 1 and (number := _number(op, known)) is not None:
            known[op.results[0]] = number
    return None


def _number(op: Operation, known: Mapping[SSAValue, Number]) -> Number | None:
    match op:
        case arith.ConstantOp(value=FloatAttr() | IntegerAttr() as number):
            return number
        case arith.SelectOp():
            return _chosen(op, known)
        case _ if op.operands:
            given = [known[v].value.data for v in op.operands if v in known]
            return evaluated(op, given) if len(given) == len(op.operands) else None
        case _:
            return None


def _chosen(op: arith.SelectOp, known: Mapping[SSAValue, Number]) -> Number | None:
    condition, left, right = (known.get(value) for value in op.operands)
    if condition is not None:
        return left if condition.value.data else right
    return left if left == right else None  # equal attributes: bits and type
