"""Copies of tensors in another order: what packing operands and storing results share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, ReshapeOp, YieldOp
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.rounding import is_widening
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
