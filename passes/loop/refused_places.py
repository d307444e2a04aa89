"""Numbers of the call below which the indices of reads are, as others are refused.

`bound-dynamic-shapes` makes places that are not below the size of a padded dimension its bound,
which the check of a read refuses, and those of padding 0. These choices are followed through the
nests that make them.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.passes.cost.fusion_limits import MOST_FOLLOWED_OPS
from lamina.passes.loop.body_origins import (
    COPIES,
    Place,
    comparison,
    constant,
    is_negative,
    maker,
    number_of_call,
    origin,
)
from lamina.passes.loop.place_ends import end_of_place


def end_of_index(index: SSAValue, nest: GenericOp, extent: int) -> SSAValue | None:
    """A tensor of one integer below which all values of an index of a dimension are, or are 0, but
    for those that its read refuses; None if there is none known."""
    return _Search(extent).end(index, nest) or end_of_place(index, nest)


class _Search:
    """Where the values of an index end, of a dimension of some extent."""

    def __init__(self, extent: int) -> None:
        self._extent = extent
        self._steps = 0

    def end(self, index: SSAValue, nest: GenericOp) -> SSAValue | None:
        """A tensor of one integer below which all values of an index are, or are 0; others are the
        extent or more. None if there is none known."""
        self._steps += 1
        if self._steps > MOST_FOLLOWED_OPS:
            return None
        value, at, point = origin(index, nest, AffineMap.identity(len(nest.extents)))
        owner = value.owner
        if at is None:
            made = maker(owner.source) if isinstance(owner, ReshapeOp) else None
            return None if made is None else self.end(*made)
        if isinstance(owner, COPIES):
            return self.end(owner.input, at)
        if not isinstance(owner, arith.SelectOp):
            return None
        condition, chosen, other = ((operand, at, point) for operand in owner.operands)
        if constant(other) == 0:
            return self.end(owner.lhs, at)
        if (number := constant(chosen)) is not None and number >= self._extent:
            return self._guard(condition, other)
        if is_negative(condition, other):
            return self.end(owner.rhs, at)  # one that ends is not
        return None

    def _guard(self, condition: Place, index: Place) -> SSAValue | None:
        """What an index is compared with by a condition which holds wherever it is outside."""
        value, at, point = origin(*condition)
        if at is None or not isinstance(value.owner, arith.OrIOp):
            return None
        sides = [(side, at, point) for side in value.owner.operands]
        for low, high in (sides, sides[::-1]):
            if is_negative(low, index):
                return self._compared(high, index)
        return None

    def _compared(self, condition: Place, index: Place) -> SSAValue | None:
        """The integer of which a condition says that an index is not below it."""
        found = comparison(condition, "sge", index)
        return None if found is None else number_of_call(found)
