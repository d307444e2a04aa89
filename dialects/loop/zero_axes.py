"""Along which axes of their operands products sum, and from which number on these are 0."""

from __future__ import annotations

from xdsl.ir import BlockArgument
from xdsl.ir.affine import AffineExpr

from lamina.dialects.loop.bounds import BOUNDS, zeros_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp


def axis_alone(nest: GenericOp, place: int, dim: int) -> int | None:
    """The axis of a read that a dimension walks, position by position, and no other axis with it.

    Positions of the axis are those of the dimension.
    """
    results = nest.read_maps[place].results
    along = [axis for axis, expr in enumerate(results) if dim in expr.used_dims()]
    if len(along) != 1 or nest.pad_values[place] is not None:
        return None
    return along[0] if results[along[0]] == AffineExpr.dimension(dim) else None


def zeros_along(nest: GenericOp, place: int, dim: int) -> frozenset[int]:
    """The arguments of the kernel with the numbers from which on a read is 0 along a dimension."""
    read, axis = nest.inputs[place], axis_alone(nest, place, dim)
    function = read.block.parent_op() if isinstance(read, BlockArgument) else None
    if not isinstance(read, BlockArgument) or axis is None or function is None:
        return frozenset()
    return frozenset(n for a, own, n in zeros_of(function) if (a, own) == (read.index, axis))


def sum_end(shape: Contraction) -> tuple[int, int] | None:
    """The only dimension that a packed product sums over, and the argument with the number from
    which on both its operands are 0 there. None for others, and where masks bound the sum."""
    nest = shape.op
    wide = [d for d in shape.summed if nest.extents[d] != 1]
    if shape.panel is None or len(wide) != 1 or BOUNDS in nest.attributes:
        return None
    numbers = zeros_along(nest, shape.a, wide[0]) & zeros_along(nest, shape.b, wide[0])
    return (wide[0], min(numbers)) if numbers else None
