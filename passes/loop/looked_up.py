"""Sources that a nest looks up (`loop.read`): their axes that it walks as those of its results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.ir_links import replace_uses
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp


def walked_axes(nest: GenericOp, number: int) -> list[set[int]]:
    """For each axis of a source, the dimension of several positions by which all reads index it;
    none where an index is computed, or differs from read to read."""
    reads = reads_of(nest, number)
    if not reads:
        return []
    axes = zip(*(map(_dim, read.indices) for read in reads), strict=True)
    return [
        {d for d in dims if d is not None and len(dims) == 1 and nest.extents[d] > 1}
        for dims in map(set, axes)
    ]


def reads_of(nest: GenericOp, number: int) -> list[ReadOp]:
    """The reads of a source; none if anything else in the body takes it."""
    argument = _argument(nest, number)
    users = [use.operation for use in argument.uses]
    reads = [user for user in users if isinstance(user, ReadOp) and user.source is argument]
    return reads if len(reads) == len(users) else []


def look_up_in_order(nest: GenericOp, number: int, source: SSAValue, order: Sequence[int]) -> None:
    """Have a nest look up a source whose axes lie in another order, which it is given as an operand
    already (in place)."""
    reads = reads_of(nest, number)
    old = _argument(nest, number)
    new = nest.block.insert_arg(source.type, old.index)
    for read in reads:
        limits = read.limit_of_each
        indices = [read.indices[axis] for axis in order]
        moved = ReadOp(new, indices, [limits[axis] for axis in order])
        moved.attributes.update(read.attributes)
        moved.location = read.location
        nest.block.insert_op_before(moved, read)
        replace_uses(read.result, moved.result)
        nest.block.erase_op(read)
    nest.block.erase_arg(old)


def _argument(nest: GenericOp, number: int) -> BlockArgument:
    return nest.block.args[len(nest.inputs) + number]


def _dim(index: SSAValue) -> int | None:
    return index.owner.dim.value.data if isinstance(index.owner, IndexOp) else None
