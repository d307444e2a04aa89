"""`flush-exponentials`: weights of a softmax that only products read may be 0 where they are tiny.

The exponentials of a softmax, `exp(x - amax(x))`, are 1 at most, and 1 somewhere in each row. Those
of what a mask lowers by 100, say, are subnormal numbers, by which processors of Intel multiply a
hundred times slower than by others, and which take as long to make. Where nothing but products and
sums of such a row read them, they are marked with `lamina.flushed`: results below the least normal
number may be 0, as in torch's own attention. That moves what a product adds up by no more than
2^-126 times what it is multiplied by. Where a program sees the weights, they are what they are.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.loop.rounding import FLUSHED
from lamina.dialects.schema.op import SchemaOp

_MOVES = frozenset({"reshape", "transpose", "broadcast_in_dim", "convert_element_type", "clone"})
"""Ops that hand elements on as they are."""
MOST_FACTOR = 2.0**20
"""Of numbers that weights are multiplied by, such as those of a dropout: far from overflow."""


class FlushExponentialsPass(ModulePass):
    """Mark exponentials of softmaxes that only products read, whose tiny results may be 0."""

    name = "flush-exponentials"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if _is(inner, "exp") and _is_below_largest(inner.operands[0]):
                products: list[SchemaOp] = []
                weights = inner.results[0]
                if _only_products(weights, weights, products) and products:
                    inner.attributes[FLUSHED] = UnitAttr()


def _is(op: object, *names: str) -> TypeGuard[SchemaOp]:
    """Whether an op is one of these primitives."""
    dialect, _, name = op.name.partition(".") if isinstance(op, SchemaOp) else ("", "", "")
    return dialect == "prims" and name in names


def _origin(value: SSAValue) -> SSAValue:
    """What a value is that has only been moved since."""
    while _is(value.owner, *_MOVES):
        value = value.owner.operands[0]
    return value


def _is_below_largest(value: SSAValue) -> bool:
    """Whether a value is what its elements are less the largest of their row."""
    if not _is(value.owner, "sub"):
        return False
    x, largest = value.owner.operands
    top = _origin(largest).owner
    return _is(top, "amax") and top.operands[0] is x


def _only_products(value: SSAValue, weights: SSAValue, products: list[SchemaOp]) -> bool:
    """Whether products, which are added to the list, and sums alone read a multiple of weights."""
    for use in value.uses:
        op = use.operation
        if _is(op, "contract"):
            products.append(op)
        elif _is(op, *_MOVES) or (_is(op, "where") and use.index > 0):
            if not _only_products(op.results[0], weights, products):
                return False
        elif _is(op, "mul", "div"):
            other = op.operands[1 - use.index]
            if _is(op, "div") and use.index != 0:
                return False
            if not _is_small_factor(other, weights, divides=_is(op, "div")):
                return False
            if not _only_products(op.results[0], weights, products):
                return False
        elif not _is(op, "sum") or value is not weights:
            return False
    return True


def _is_small_factor(value: SSAValue, weights: SSAValue, *, divides: bool) -> bool:
    """Whether weights are multiplied by a small number, or divided by the sum of their row."""
    made = _origin(value).owner
    if _is(made, "full"):
        number = made.arg("fill_value")
        return not divides and isinstance(number, int | float) and abs(number) <= MOST_FACTOR
    if not divides:
        if not _is(made, "reciprocal"):
            return False
        made = _origin(made.operands[0]).owner
    return _is(made, "sum") and made.operands[0] is weights
