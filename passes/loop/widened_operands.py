"""Operands of products that were bf16 before they were widened, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from xdsl.dialects.builtin import TensorType, bf16
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import (
    Forms,
    flatten,
    forms_of,
    producer_dims,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.permutations import through_permutation
from lamina.dialects.loop.rounding import IMPLICIT, is_widening
from lamina.dialects.records import record
from lamina.passes.cost.product_limits import MOST_DOT_ROWS
from lamina.passes.loop.packing import copy_nest, is_constant


@record
class Operand:
    """A bf16 tensor, and the indices at which a product reads it, of another shape if it is to be
    viewed so."""

    value: SSAValue
    forms: Forms
    view: tuple[int, ...] | None = None
    order: GenericOp | None = None
    """What widened the elements in another order, which is to be theirs before the view."""

    def step(self, dim: int) -> int:
        """Elements from one position of a dimension of the product to the next."""
        return flatten(self.forms, self.view or shape_of(self.value)).coefficient(dim)

    def placed(self, op: GenericOp) -> tuple[Operand, list[Operation]]:
        """The same tensor as the product `op` reads it, and what was put in front of that for it:
        a copy in another order, and a reshape, if need be."""
        made: list[Operation] = []
        if self.view is None:
            return self, made
        block, value = op.parent_block(), self.value
        assert block is not None
        if self.order is not None:
            domain, read = self.order.extents, self.order.read_maps[0]
            made.append(copy_nest(op, "layout", value, read, domain))
            value = made[-1].results[0]
        made.append(ReshapeOp(value, TensorType(bf16, self.view)))
        made[-1].location = op.location
        block.insert_ops_before(made, op)
        return Operand(made[-1].results[0], self.forms), made


def multiplies_in_pairs(nest: GenericOp, target: Target) -> bool:
    """Whether both operands of a product were bf16, which the target multiplies in pairs."""
    multiplies = target.dots_pairs or target.multiplies_tiles
    return multiplies and all(widened_operand(nest, number) is not None for number in (0, 1))


def widened_operand(op: GenericOp, number: int) -> Operand | None:
    """What was widened to give a read, perhaps in another shape, for an op computed in f32."""
    value, view = op.inputs[number], None
    while isinstance(value.owner, ReshapeOp) and not value.owner.sizes:
        view = view or shape_of(value)
        value = value.owner.source
    nest = value.owner
    if not is_widening(nest):
        return None
    (given,), first = nest.inputs, nest.block.first_op
    if given.type.element_type != bf16:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    if first is None or IMPLICIT not in first.attributes:
        return None
    seen = forms_of(op.read_maps[number], op.extents)
    if view is not None:
        order = None if _keeps_places(nest) else nest
        if seen is None or (order is not None and not _writes_in_order(nest)):
            return None
        return Operand(given, seen, view, order)
    if seen is not None and op.pad_values[number] is not None:
        moved = through_permutation(nest, seen, tuple(op.extents))
        return None if moved is None else Operand(given, moved)
    read = forms_of(nest.read_maps[0], nest.extents)
    position = None if seen is None else producer_dims(nest, seen)
    if read is None or position is None:
        return None
    return Operand(given, tuple(substitute(form, position) for form in read))


def _keeps_places(nest: GenericOp) -> bool:
    """Whether each element of what a nest makes stands where it was read."""
    same = shape_of(nest.inputs[0]) == shape_of(nest.res[0])
    return same and nest.read_maps[0] == nest.write_maps[0]


def _writes_in_order(nest: GenericOp) -> bool:
    """Whether the dimensions of a nest are the axes of what it makes."""
    alone = AffineMap.identity(len(nest.extents))
    return nest.write_maps[0] == alone and tuple(nest.extents) == shape_of(nest.res[0])


def dots_in_place(shape: Contraction, invariants: Collection[SSAValue], target: Target) -> bool:
    """Whether a product of few rows has dot products of pairs that lie side by side as they are.

    Nothing is packed or widened for it then: see `lamina.passes.schedule.dot_sums`.
    """
    op = shape.op
    if not target.dots_pairs or shape.batch or len(shape.summed) != 1:
        return False
    if op.pad_values != (None, None) or 0 in op.extents:
        return False
    if prod(op.extents[d] for d in shape.rows) > MOST_DOT_ROWS:
        return False
    if op.extents[shape.summed[0]] < 2 * target.lanes(32):
        return False
    operands = [widened_operand(op, number) for number in (0, 1)]
    return all(
        half is not None
        and half.view is None
        and half.step(shape.summed[0]) == 1
        and not is_constant(half.value, invariants)
        for half in operands
    )
