"""Comparisons of positions in the body of a nest, as bounds of one of its dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop.body_ops import IndexOp
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.linear_arithmetic import linear_arithmetic
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.predicates import SGE, SGT, SLT, ULT


def comparisons(
    nest: GenericOp, dim: int, counts: Mapping[SSAValue, int] | None = None
) -> dict[SSAValue, Bound]:
    """The comparisons in a body that are true just within a bound of `dim`, over kernel rows.

    `counts` are numbers of the call that the nest may read, by arguments of its kernel: positions
    below one of these are compared, too.
    """
    places = {d: p for p, d in enumerate(rows_of(nest))}
    numbers = _numbers(nest, counts or {})
    forms: dict[SSAValue, Linear] = {}
    found: dict[SSAValue, Bound] = {}
    for op in nest.block.ops:
        if isinstance(op, arith.CmpiOp):
            left, right = forms.get(op.lhs), forms.get(op.rhs)
            if (counted := _counted(op, forms, numbers)) is not None:
                position, count = counted
                bound = bound_below(position, count, dim, places)
                if bound is not None and _are_near(nest, position):
                    found[op.result] = bound
            elif left is not None and right is not None and _are_near(nest, left, right):
                difference = left.add(right.scale(-1))
                bound = _bound(op.predicate.value.data, difference, dim, places)
                if bound is not None:
                    found[op.result] = bound
        elif (form := _form_of(op, forms)) is not None:
            forms[op.results[0]] = form
    return found


def counted_comparisons(
    nest: GenericOp | OrderedNest, counts: Mapping[SSAValue, int]
) -> dict[SSAValue, tuple[Linear, int]]:
    """The comparisons `position < number` of a body: each with the position, and the argument of
    its kernel, of `counts`, that is the number."""
    numbers = _numbers(nest, counts)
    forms: dict[SSAValue, Linear] = {}
    found: dict[SSAValue, tuple[Linear, int]] = {}
    for op in nest.block.ops:
        if isinstance(op, arith.CmpiOp):
            counted = _counted(op, forms, numbers)
            if counted is not None and _are_near(nest, counted[0]):
                found[op.result] = counted
        elif (form := _form_of(op, forms)) is not None:
            forms[op.results[0]] = form
    return found


def bound_below(position: Linear, count: int, dim: int, places: Mapping[int, int]) -> Bound | None:
    """The bound of `dim` within which a position, of which it is a step, is below a number.

    `places` are the kernel's rows, by dimension, of which the number may be less.
    """
    rest = {d: c for d, c in position.terms if d != dim}
    if position.coefficient(dim) != 1 or not rest.keys() <= places.keys():
        return None
    if any(c < 0 for c in rest.values()):
        return None
    terms = {FIRST_COUNT + count: 1, **{places[d]: -c for d, c in rest.items()}}
    return Bound(True, Linear.of(terms, -position.constant))


def _numbers(nest: GenericOp | OrderedNest, counts: Mapping[SSAValue, int]) -> dict[SSAValue, int]:
    """The values of a body that are numbers of the call."""
    return {
        argument: counts[value]
        for argument, value in zip(nest.block.args, nest.inputs, strict=False)
        if value in counts
    }


def _counted(
    op: arith.CmpiOp, forms: Mapping[SSAValue, Linear], numbers: Mapping[SSAValue, int]
) -> tuple[Linear, int] | None:
    """What an op compares with a number of the call, and that, if it is `position < number`."""
    predicate = op.predicate.value.data
    left, right = (op.rhs, op.lhs) if predicate == SGT else (op.lhs, op.rhs)
    if predicate not in (SLT, ULT, SGT) or left not in forms or right not in numbers:
        return None
    return forms[left], numbers[right]


def _bound(predicate: int, difference: Linear, dim: int, places: dict[int, int]) -> Bound | None:
    """The bound of `dim` within which `difference` compares with 0 so."""
    step = difference.coefficient(dim)
    rest = {d: c for d, c in difference.terms if d != dim}
    if abs(step) != 1 or not rest.keys() <= places.keys() or not SLT <= predicate <= SGE:
        return None
    if predicate in (SGT, SGE):
        step, difference = -step, difference.scale(-1)
    # step * position + rest < 0, or <= 0
    limit = 0 if predicate in (SLT, SGT) else 1
    other = Linear.of(
        {places[d]: c for d, c in difference.terms if d != dim}, difference.constant - limit
    )
    if step == 1:
        return Bound(True, other.scale(-1))
    return Bound(False, Linear(other.terms, other.constant + 1))


_LARGEST = 1 << 30
"""Positions below this are themselves in every type that they are converted to."""


def _are_near(nest: GenericOp | OrderedNest, *forms: Linear) -> bool:
    """Whether numbers do not leave the range of the integers that hold them."""
    return all(abs(end) < _LARGEST for form in forms for end in form.range(nest.extents))


def _form_of(op: Operation, forms: dict[SSAValue, Linear]) -> Linear | None:
    """What an op of positions gives, if it is linear in them."""
    match op:
        case IndexOp():
            return Linear.dim(op.dim.value.data)
        case arith.ConstantOp():
            number = getattr(op.value, "value", None)
            data = getattr(number, "data", None)
            if not isinstance(data, int) or abs(data) >= _LARGEST:
                return None
            return Linear((), data)
        case arith.IndexCastOp() | arith.ExtSIOp():
            kept = getattr(op.results[0].type, "bitwidth", 64) >= 32
            return forms.get(op.operands[0]) if kept else None
        case _:
            return linear_arithmetic(op, forms)
