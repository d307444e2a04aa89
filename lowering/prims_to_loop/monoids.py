"""Monoids that lowerings reduce by, as combining regions."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Region

from lamina.dialects.loop import YieldOp
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.monoid import Monoid
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.scalar import compare, select


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
    neutral = identity_value("max" if largest else "min", value)
    return Monoid((neutral, identity_value("min", place)), Region(block))
