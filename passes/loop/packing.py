"""Copies of tensors in another order: what packing operands and storing results share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from lamina.dialects.loop import GenericOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import forms_of, map_of
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.permutations import through_permutation
from lamina.dialects.loop.rounding import is_half, is_widening
from lamina.dialects.schema.result_rules.shapes import tensor


def is_constant(value: SSAValue, invariants: Collection[SSAValue]) -> bool:
    """Whether a value stays the same from call to call or round to round: `invariant_values`."""
    while isinstance(value.owner, ReshapeOp) or is_widening(value.owner):
        value = value.owner.operands[0]
    return value in invariants


def copy_nest(
    op: Operation,
    name: str,
    operand: SSAValue,
    read: AffineMap,
    domain: Sequence[int],
    pad: Attribute | None = None,
    *,
    written: AffineMap | None = None,
    shape: Sequence[int] | None = None,
) -> GenericOp:
    """A nest for `op`, from its line, that copies an operand into the order of `domain`, or to
    where `written` says in a tensor of another shape."""
    assert isinstance(operand.type, TensorType)
    element = operand.type.element_type
    body = Block(arg_types=[element])
    body.add_op(YieldOp([body.args[0]]))
    order = [written or AffineMap.identity(len(domain))]
    kind = tensor(domain if shape is None else shape, element)
    nest = GenericOp(domain, [operand], [read], order, ["store"], [kind], Region(body), pads=[pad])
    set_names(nest, [name])
    nest.location = op.location
    return nest


def copy_of_halves(copy: GenericOp) -> GenericOp | None:
    """The same copy of what was widened to f32 in front of it, in half floats; None where nothing
    was so. It is not in a block yet, and `copy` stays."""
    (operand,), (pad,) = copy.inputs, copy.pad_values
    nest, forms = operand.owner, forms_of(copy.read_maps[0], copy.extents)
    if not is_widening(nest) or forms is None:
        return None
    (given,) = nest.inputs
    kind = given.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    moved = through_permutation(nest, forms, tuple(copy.extents))
    if moved is None or not is_half(kind):
        return None
    if pad is not None:
        if not isinstance(pad, FloatAttr) or pad.value.data != 0:
            return None
        pad = FloatAttr(0.0, kind)
    read = map_of(moved, len(copy.extents))
    return copy_nest(copy, "pack", given, read, copy.extents, pad)


def widen_read(op: GenericOp, number: int, source: SSAValue) -> None:
    """Have the body of a product widen a read whose elements are half floats now."""
    argument = op.block.args[number]
    element = source.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    if not is_half(element) or argument.type == element:
        return
    wide = argument.type
    narrow = Rewriter.replace_value_with_new_type(argument, element)
    widened = arith.ExtFOp(narrow, wide)  # pyright: ignore[reportArgumentType]
    first = op.block.first_op
    assert first is not None
    op.block.insert_op_before(widened, first)
    narrow.replace_uses_with_if(widened.result, lambda use: use.operation is not widened)
