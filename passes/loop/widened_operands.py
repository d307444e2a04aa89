"""Operands of products that were bf16 before they were widened, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import (
    Forms,
    flatten,
    forms_of,
    producer_dims,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.rounding import IMPLICIT, is_widening
from lamina.passes.cost.product_limits import MOST_DOT_ROWS
from lamina.passes.loop.packing import is_constant


@dataclass(frozen=True)
class Operand:
    """A bf16 tensor, and the indices at which a product reads it."""

    value: SSAValue
    forms: Forms

    def step(self, dim: int) -> int:
        """Elements from one position of a dimension of the product to the next."""
        return flatten(self.forms, shape_of(self.value)).coefficient(dim)


def widened_operand(op: GenericOp, number: int) -> Operand | None:
    """What was widened to give a read, for an op computed in f32."""
    nest = op.inputs[number].owner
    if not is_widening(nest):
        return None
    (given,), first = nest.inputs, nest.block.first_op
    if given.type.element_type != bf16:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    if first is None or IMPLICIT not in first.attributes:
        return None
    read = forms_of(nest.read_maps[0], nest.extents)
    seen = forms_of(op.read_maps[number], op.extents)
    position = None if seen is None else producer_dims(nest, seen)
    if read is None or position is None:
        return None
    return Operand(given, tuple(substitute(form, position) for form in read))


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
        and half.step(shape.summed[0]) == 1
        and not is_constant(half.value, invariants)
        for half in operands
    )
