"""Where the scalars of loop bodies are made: followed from nest to nest, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import row_major_strides, shape_of

COPIES = (arith.IndexCastOp, arith.ExtSIOp)
"""What hands an integer on as it is."""

Place: TypeAlias = tuple[SSAValue, GenericOp | None, AffineMap]
"""A scalar of a nest's body at a point of its domain; without a nest, the element of a tensor. The
map gives the point, or the element, from the point at which a search began."""


def origin(value: SSAValue, nest: GenericOp | None, point: AffineMap) -> Place:
    """Where a value is made: elements are followed to the nests that give them."""
    while nest is not None and (read := _read(value, nest, point)) is not None:
        tensor, point = read
        made = maker(tensor)
        if made is None:
            return tensor, None, point
        value, nest = made
    return value, nest, point


def _read(value: SSAValue, nest: GenericOp, point: AffineMap) -> tuple[SSAValue, AffineMap] | None:
    """The tensor, and the element of it, that a scalar of a nest's body is; None for what the body
    computes, and what may be a pad."""
    if not isinstance(value, BlockArgument) or value.block is not nest.block:
        return None
    number = value.index
    if number >= len(nest.inputs) or nest.pad_values[number] is not None:
        return None
    return element_of(nest, number, point)


def element_of(nest: GenericOp, number: int, point: AffineMap) -> tuple[SSAValue, AffineMap]:
    """The tensor of which a nest reads an element at a point, in front of reshapes, and which."""
    tensor, element = nest.inputs[number], nest.read_maps[number].compose(point)
    while isinstance(owner := tensor.owner, ReshapeOp):
        given, made = shape_of(owner.source), shape_of(tensor)
        if prod(given) != prod(made) or 0 in given:
            break
        tensor, element = owner.source, _before_reshape(given, made, element)
    return tensor, element


def _before_reshape(given: Sequence[int], made: Sequence[int], element: AffineMap) -> AffineMap:
    """The element of a tensor that is one of its reshape."""
    number: AffineExpr = AffineExpr.constant(0)
    for index, extent, stride in zip(element.results, made, row_major_strides(made), strict=True):
        if extent != 1:
            number = number + (index if stride == 1 else index * stride)
    indices: list[AffineExpr] = []
    first = next((axis for axis, extent in enumerate(given) if extent != 1), 0)
    for axis, (extent, stride) in enumerate(zip(given, row_major_strides(given), strict=True)):
        index = number if stride == 1 else number // stride
        if extent == 1:
            index = AffineExpr.constant(0)
        elif axis != first:
            index = index % extent
        indices.append(index)
    return AffineMap(element.num_dims, element.num_symbols, tuple(indices))


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
    """The tensor of one integer whose element a value is: an argument, or what follows from such
    alone."""
    value, nest, point = place
    found: SSAValue | None = None
    while nest is not None and (read := _read(value, nest, point)) is not None:
        tensor, point = read
        found = tensor if _is_number_of_call(tensor) else found
        if (made := maker(tensor)) is None:
            break
        value, nest = made
    return found


def _is_number_of_call(tensor: SSAValue) -> bool:
    """Whether a tensor of one integer is an argument, or follows from such alone."""
    waiting, seen = [tensor], set[SSAValue]()
    while waiting:
        one = waiting.pop()
        if one.type != TensorType(i64, []):
            return False
        if isinstance(one, BlockArgument) or one in seen:
            continue
        seen.add(one)
        nest = one.owner
        if not isinstance(nest, GenericOp) or not nest.inputs or nest.sources or nest.extents:
            return False
        waiting += nest.inputs
    return True


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
