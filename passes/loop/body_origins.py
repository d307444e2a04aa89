"""Where the scalars of loop bodies are made: followed from nest to nest, one by one."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp

COPIES = (arith.IndexCastOp, arith.ExtSIOp)
"""What hands an integer on as it is."""

Place: TypeAlias = tuple[SSAValue, GenericOp | None, AffineMap]
"""A scalar of a nest's body at a point of its domain; without a nest, the element of a tensor. The
map gives the point, or the element, from the point at which a search began."""


def origin(value: SSAValue, nest: GenericOp | None, point: AffineMap) -> Place:
    """Where a value is made: elements are followed to the nests that give them."""
    while nest is not None and isinstance(value, BlockArgument):
        number = value.index
        if value.block is not nest.block or number >= len(nest.inputs):
            break
        if nest.pad_values[number] is not None:
            break
        tensor, element = nest.inputs[number], nest.read_maps[number].compose(point)
        made = maker(tensor)
        if made is None:
            return tensor, None, element
        value, nest, point = *made, element
    return value, nest, point


def maker(tensor: SSAValue) -> tuple[SSAValue, GenericOp] | None:
    """The nest that gives each element of a tensor at its own point, and the value it gives."""
    owner = tensor.owner
    if not isinstance(tensor, OpResult) or not isinstance(owner, GenericOp):
        return None
    write = owner.write_maps[tensor.index]
    if not owner.is_pointwise or write != AffineMap.identity(len(owner.extents)):
        return None
    return owner.yielded[tensor.index], owner


def constant(place: Place) -> int | None:
    """A constant integer."""
    value, nest, _ = origin(*place)
    owner = value.owner
    if nest is None or not isinstance(owner, arith.ConstantOp):
        return None
    return owner.value.value.data if isinstance(owner.value, IntegerAttr) else None


def number_of_call(place: Place) -> SSAValue | None:
    """The tensor of one integer that is made by no nest whose element a value is."""
    value, nest, _ = origin(*place)
    return value if nest is None and value.type == TensorType(i64, []) else None


def is_negative(condition: Place, index: Place) -> bool:
    """Whether a condition holds where an index is negative."""
    found = comparison(condition, "slt", index)
    return found is not None and constant(found) == 0


def comparison(condition: Place, predicate: str, index: Place) -> Place | None:
    """What an index is compared with, if a condition does that."""
    value, at, point = origin(*condition)
    owner = value.owner
    if at is None or not isinstance(owner, arith.CmpiOp):
        return None
    relation = arith.CMPI_COMPARISON_OPERATIONS[owner.predicate.value.data]
    same = origin(owner.lhs, at, point) == origin(*index)
    return (owner.rhs, at, point) if relation == predicate and same else None
