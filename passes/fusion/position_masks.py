"""Masks of positions, computed where they choose among the results of a product.

Comparing positions again for each head costs more than reading one byte. But only where a kernel
sees which positions a mask leaves out does it leave them out itself (`bound-dims`), and half a
product with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, ReshapeOp
from lamina.dialects.loop.contraction import is_product
from lamina.passes.cost.fusion_cost import body_cost, value_bytes
from lamina.passes.cost.fusion_limits import MASK_OPS, NEAR_NESTS, SMALL_SHARE

_CASTS = (arith.IndexCastOp, arith.ExtSIOp, arith.TruncIOp)
_CHOICES = (arith.SelectOp, arith.ConstantOp, arith.AndIOp, *_CASTS)


def is_position_mask(nest: GenericOp) -> bool:
    """Whether it says which positions are below numbers: it reads nothing that has elements."""
    kinds = [value.type for value in (*nest.inputs, *nest.sources)]
    return all(isinstance(kind, TensorType) and not kind.get_shape() for kind in kinds) and all(
        isinstance(made.type, TensorType) and made.type.element_type == i1 for made in nest.res
    )


def masks_products(producer: GenericOp, reader: GenericOp, value: SSAValue) -> bool:
    """Whether a producer is a mask by two positions and more, and its reader reads a product."""
    kind = value.type
    if not isinstance(kind, TensorType) or kind.element_type != i1 or not producer.is_pointwise:
        return False
    wide = {
        op.dim.value.data
        for op in producer.block.ops
        if isinstance(op, IndexOp) and producer.extents[op.dim.value.data] > 1
    }
    if len(wide) < 2 or not any(isinstance(op, arith.CmpiOp) for op in block_ops(producer.block)):
        return False
    if producer.sources or body_cost(producer) > MASK_OPS:
        return False
    if sum(map(value_bytes, producer.inputs)) * SMALL_SHARE > prod(producer.extents):
        return False
    return any(_is_of_product(v, NEAR_NESTS) for v in reader.inputs if v is not value)


def is_masked(op: GenericOp, dim: int) -> bool:
    """Whether positions of a dimension may count up to a size of the call only.

    The body compares with it, or reads a row of truth values along the dimension.
    """
    sizes = {
        argument
        for argument, value in zip(op.block.args, op.inputs, strict=False)
        if _kind(value) == (i64, 0)
    }
    compared = any(
        isinstance(inner, arith.CmpiOp) and sizes.intersection(inner.operands)
        for inner in op.block.ops
    )
    return compared or any(_is_mask_along(op, number, dim) for number in range(len(op.inputs)))


def usual_share(nests: Sequence[GenericOp]) -> float:
    """The share of positions that counts in a usual call, where a size says how many of a dimension
    do: between 1 and all of them, their geometric mean."""
    masked = (n.extents[d] for n in nests for d in range(len(n.extents)) if is_masked(n, d))
    return max(1, max(masked, default=1)) ** -0.5


def _is_mask_along(op: GenericOp, number: int, dim: int) -> bool:
    """Whether a read is a row of truth values along a dimension."""
    is_row = _kind(op.inputs[number]) == (i1, 1)
    return is_row and dim in op.read_maps[number].used_dims()


def _kind(value: SSAValue) -> tuple[Attribute, int]:
    """The element type and the rank of a tensor."""
    kind = value.type
    assert isinstance(kind, TensorType)
    return kind.element_type, kind.get_num_dims()


def masks_places(producer: GenericOp, reader: GenericOp, value: SSAValue) -> bool:
    """Whether a producer only chooses, by masks, between integers, or bits of them, and constants,
    or has negative ones count from an end, and its reader looks up at what it gives.

    A place is asked for wherever the reader stands: where the reader itself chooses, what makes the
    integers is asked for no more than where masks are true.
    """
    kind = value.type
    if not isinstance(kind, TensorType) or kind.element_type not in (i32, i64):
        return False
    body = block_ops(producer.block)[:-1]
    if not producer.is_pointwise or producer.sources or not body:
        return False
    if not all(isinstance(op, _CHOICES) or _is_wrapping(op) for op in body):
        return False
    if not any(isinstance(op, arith.SelectOp) for op in body):
        return False
    arguments = [a for a, v in zip(reader.block.args, reader.inputs, strict=False) if v is value]
    return any(_is_place(argument) for argument in arguments)


def _is_wrapping(op: Operation) -> bool:
    """Whether an op is one by which places count from the end where they are negative: something is
    added to them, or they are compared, with a constant."""
    return isinstance(op, arith.AddiOp | arith.CmpiOp) and any(
        isinstance(operand.owner, arith.ConstantOp) for operand in op.operands
    )


def _is_place(value: SSAValue) -> bool:
    """Whether something is read at a value, cast to an index or an integer of another width."""
    return any(
        isinstance(use.operation, ReadOp)
        or (isinstance(use.operation, _CASTS) and _is_place(use.operation.results[0]))
        for use in value.uses
    )


def _is_of_product(value: SSAValue, nests: int) -> bool:
    """Whether a value is a product, pointwise nests after it looked through."""
    owner = value.owner
    if isinstance(owner, ReshapeOp):
        return _is_of_product(owner.source, nests)
    if is_product(owner):
        return True
    if not isinstance(owner, GenericOp) or not owner.is_pointwise or not nests:
        return False
    return any(_is_of_product(v, nests - 1) for v in owner.inputs)


__all__ = ["is_masked", "is_position_mask", "masks_places", "masks_products", "usual_share"]
