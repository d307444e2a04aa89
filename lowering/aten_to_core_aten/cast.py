"""Conversions of dtype and device, copies, ops that only matter to autograd."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import same_rounding
from lamina.lowering.tensor_types import element_of, shape_of


@lowers(
    "to.dtype",
    "to.device",
    "to.dtype_layout",
    "to.other",
    "type_as",
    "_autocast_to_full_precision",
    "_autocast_to_reduced_precision",
    "_cast_Byte",
    "_cast_Char",
    "_cast_Double",
    "_cast_Float",
    "_cast_Half",
    "_cast_Int",
    "_cast_Long",
    "_cast_Short",
)
def to(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The dtype is the result's; all tensors here are on one device in one layout."""
    return b.cast(op.arg("self"), element_of(op.results[0]))


@lowers("_to_copy", "clone", "alias")
def same_value(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Copies are values; only a change of dtype is left."""
    made = b.cast(op.arg("self"), element_of(op.results[0]))
    return same_rounding(op, made)


@lowers(
    "detach",
    "detach_copy",
    "alias_copy",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "contiguous",
    "resolve_conj",
    "resolve_neg",
    "pin_memory",
    "_lazy_clone",
    "_fw_primal",
    "_fw_primal_copy",
    "_pin_memory",
)
def identity(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The operand itself."""
    return op.operands[0]


@lowers("copy")
def copy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """`src` in the dtype and shape of `self`."""
    source = b.cast(op.arg("src"), element_of(op.arg("self")))
    return b.expand(source, shape_of(op.results[0]))


@lowers("_assert_tensor_metadata")
def no_effect(op: SchemaOp, b: CoreBuilder) -> list[SSAValue | None]:
    """Dropped: types are checked statically."""
    return []
