"""Comparisons of positions in a body whose answer follows from the domain.

A body that is inlined where a reader stands at a known place, or walks a part of the domain, keeps
the choices it made over its own domain: most of them have one answer there, and what they choose
from need not be read or computed.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.linear_arithmetic import linear_arithmetic
from lamina.dialects.loop.predicates import EQ, NE, SGE, SGT, SLE, SLT, ULT


def settle_choices(op: GenericOp) -> None:
    """Put constants in the place of comparisons that come out the same in the whole domain.

    Others of one dimension become `position < limit`, so that equal questions are equal ops. One
    walk over the body.
    """
    if 0 in op.extents:
        return
    for inner, (predicate, difference) in _compared(op).items():
        _settle(inner, predicate, difference, op.extents)


def thresholds(op: GenericOp) -> dict[Operation, tuple[int, int]]:
    """(dimension, limit) of the comparisons in a body that are `position < limit`, constants taken
    off the position."""
    return {
        inner: (difference.terms[0][0], -difference.constant)
        for inner, (predicate, difference) in _compared(op).items()
        if predicate == SLT and _is_one_dim(difference)
    }


def settled(limit: int, low: int, extent: int) -> bool | None:
    """Whether positions from `low` on, `extent` of them, are below a limit; None if some are."""
    return _answer(SLT, low - limit, low + extent - 1 - limit)


def _compared(op: GenericOp) -> dict[arith.CmpiOp, tuple[int, Linear]]:
    """The comparisons of what is linear in positions: the predicate, and the difference that it
    compares with 0."""
    compared = [inner for inner in block_ops(op.block) if isinstance(inner, arith.CmpiOp)]
    if not compared:
        return {}
    forms, found = position_forms(op), dict[arith.CmpiOp, tuple[int, Linear]]()
    for inner in compared:
        left, right = forms.get(inner.lhs), forms.get(inner.rhs)
        if left is None or right is None:
            continue
        predicate = inner.predicate.value.data
        if predicate == ULT and all(form.range(op.extents)[0] >= 0 for form in (left, right)):
            predicate = SLT
        found[inner] = predicate, left.add(right.scale(-1))
    return found


def position_forms(op: GenericOp) -> dict[SSAValue, Linear]:
    """The values of a body that are linear in positions, indices and signed integers.

    No step on the way to them overflows anywhere in the domain, which is not empty.
    """
    forms: dict[SSAValue, Linear] = {}
    for inner in op.block.ops:
        form = _form_of(inner, forms, op.extents)
        if form is not None and _fits(form, inner.results[0].type, op.extents):
            forms[inner.results[0]] = form
    return forms


def _form_of(
    op: Operation, forms: Mapping[SSAValue, Linear], extents: tuple[int, ...]
) -> Linear | None:
    """What an op of positions gives, if it is linear in them."""
    match op:
        case IndexOp():
            return Linear.dim(op.dim.value.data)
        case arith.ConstantOp(value=IntegerAttr() as number):
            return Linear((), number.value.data)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return forms.get(op.input)
        case arith.SelectOp():
            chosen = _choice(op.cond.owner, forms, extents)
            return None if chosen is None else forms.get(op.lhs if chosen else op.rhs)
        case _:
            return linear_arithmetic(op, forms)


def _choice(
    condition: Operation | Block, forms: Mapping[SSAValue, Linear], extents: tuple[int, ...]
) -> bool | None:
    """What a condition is in the whole domain; None if that is not known, or varies."""
    match condition:
        case arith.ConstantOp(value=IntegerAttr() as answer):
            return bool(answer.value.data)
        case arith.CmpiOp():
            left, right = forms.get(condition.lhs), forms.get(condition.rhs)
            if left is None or right is None:
                return None
            difference = left.add(right.scale(-1))
            return _answer(condition.predicate.value.data, *difference.range(extents))
        case _:
            return None


def _fits(form: Linear, kind: Attribute, extents: tuple[int, ...]) -> bool:
    """Whether a type has all numbers of a form; booleans are none."""
    if isinstance(kind, IndexType):
        return True
    if not isinstance(kind, IntegerType) or kind.bitwidth == 1:
        return False
    limit = 1 << (kind.bitwidth - 1)
    low, high = form.range(extents)
    return -limit <= low and high < limit


def _settle(op: arith.CmpiOp, predicate: int, difference: Linear, extents: tuple[int, ...]) -> None:
    answer = _answer(predicate, *difference.range(extents))
    block = op.parent
    assert block is not None
    if answer is not None:
        settled = arith.ConstantOp(IntegerAttr(int(answer), i1))
        block.insert_op_before(settled, op)
        op.result.replace_all_uses_with(settled.result)
    elif predicate == SLT and _is_one_dim(difference) and not isinstance(op.lhs.owner, IndexOp):
        position = IndexOp(difference.terms[0][0])
        limit = arith.ConstantOp(IntegerAttr(-difference.constant, IndexType()))
        block.insert_ops_before([position, limit], op)
        op.operands[0], op.operands[1] = position.result, limit.result


def _is_one_dim(difference: Linear) -> bool:
    return len(difference.terms) == 1 and difference.terms[0][1] == 1


def _answer(predicate: int, low: int, high: int) -> bool | None:
    """Whether a difference from `low` to `high` compares with 0 so; None if it varies."""
    match predicate:
        case _ if predicate == EQ:
            return False if low > 0 or high < 0 else (True if low == high else None)
        case _ if predicate == NE:
            answer = _answer(EQ, low, high)
            return None if answer is None else not answer
        case _ if predicate == SLT:
            return True if high < 0 else (False if low >= 0 else None)
        case _ if predicate == SLE:
            return _answer(SLT, low - 1, high - 1)
        case _ if predicate == SGT:
            return _answer(SLT, -high, -low)
        case _ if predicate == SGE:
            return _answer(SLT, -high - 1, -low - 1)
        case _:
            return None
