"""Axes that a reshape leaves alone, on either side of it."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop import ReshapeOp
from lamina.dialects.loop.access import shape_of


def axis_beside(reshape: ReshapeOp, value: SSAValue, axis: int) -> tuple[SSAValue, int] | None:
    """The other side of a reshape of known sizes, and its axis with the elements of an axis of
    `value`, neither split nor joined; None if there is none, or no more than one element.

    What stands in front of the axis, and behind it, has as many elements on both sides, so that the
    axis may be the innermost one on both as well.
    """
    other = reshape.result if value is reshape.source else reshape.source
    shape, beside = shape_of(value), shape_of(other)
    if reshape.sizes or prod(shape) == 0 or shape[axis] == 1:
        return None
    for candidate, extent in enumerate(beside):
        if extent == shape[axis] and prod(beside[:candidate]) == prod(shape[:axis]):
            return other, candidate
    return None
