"""Where the indices of indirect reads end, as operands of the nest in whose body they stand."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import ReadOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.nest import OrderedNest


def limits_of(nest: GenericOp | OrderedNest, read: ReadOp) -> list[SSAValue | None]:
    """For each index of a read the number that it is below, or 0 where that is less than 1: a
    tensor or memref of one element among the nest's inputs. None where no such number is known."""
    return [None if limit is None else _input(nest, limit) for limit in read.limit_of_each]


def _input(nest: GenericOp | OrderedNest, limit: SSAValue) -> SSAValue | None:
    value = limit
    while isinstance(value.owner, arith.IndexCastOp):
        value = value.owner.input
    if not isinstance(value, BlockArgument) or value.block is not nest.body.block:
        return None
    if value.index >= len(nest.inputs):
        return None
    number = nest.inputs[value.index]
    return None if shape_of(number) else number
