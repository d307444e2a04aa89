"""Monoids that lowerings reduce by: identities of named combiners, and combining regions."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Block, Region

from lamina.dialects.loop import YieldOp
from lamina.dialects.loop.monoid import Monoid
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.scalar import compare, number, select

_NUMBERS = {"add": 0, "mul": 1, "and": -1, "or": 0}


def identity(combiner: str, element: Attribute) -> Attribute:
    """What a combiner ignores."""
    if combiner in _NUMBERS:
        return number(_NUMBERS[combiner], element)
    if scalar.is_unsigned(element) or element == i1:
        return number(0 if combiner == "max" else -1, element)
    if isinstance(element, IntegerType):
        bits = element.width.data
        return number(-(1 << bits - 1) if combiner == "max" else (1 << bits - 1) - 1, element)
    return number(float("-inf") if combiner == "max" else float("inf"), element)


def extreme_monoid(value: Attribute, place: Attribute, *, largest: bool) -> Monoid:
    """Of two (value, place) the one with the more extreme value; of equal ones the lower place.

    Values are no NaN.
    """
    block = Block(arg_types=[value, place, value, place])
    inner = Body(block)
    one, here, other, there = block.args
    beyond = compare(inner, "gt" if largest else "lt", one, other)
    same = compare(inner, "eq", one, other)
    before = inner.add(arith.AndIOp(same, compare(inner, "lt", here, there)))
    first = inner.add(arith.OrIOp(beyond, before))
    chosen = select(inner, first, one, other), select(inner, first, here, there)
    block.add_op(YieldOp(chosen))
    neutral = identity("max" if largest else "min", value)
    return Monoid((neutral, identity("min", place)), Region(block))
