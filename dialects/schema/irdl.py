"""A table op in xDSL's own terms, for tools that ask for `get_irdl_definition`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
)

from lamina.dialects.schema.slots import PRESENT_SUFFIX, SEGMENTS, Role

if TYPE_CHECKING:
    from lamina.dialects.schema.op import SchemaOp


def definition_of(cls: type[SchemaOp]) -> OpDef:
    """Operands, properties, results and traits; what they may hold is checked by `verify_`."""
    definition = OpDef(cls.name, traits=cls.traits)
    anything = AnyAttr()
    for slot in cls.slots.all:
        if slot.role in (Role.TENSORS, Role.MIXED_LIST):
            definition.operands.append((slot.name, VarOperandDef(anything)))
        elif slot.role is Role.MIXED or (slot.role is Role.TENSOR and slot.type.optional):
            definition.operands.append((slot.name, OptOperandDef(anything)))
        elif slot.role is Role.TENSOR:
            definition.operands.append((slot.name, OperandDef(anything)))
        if slot.role in (Role.CONSTANT, Role.MIXED, Role.MIXED_LIST):
            definition.properties[slot.name] = OptPropertyDef(anything)
        elif slot.type.optional_elements:
            definition.properties[slot.name + PRESENT_SUFFIX] = OptPropertyDef(anything)
    if cls.slots.needs_segments:
        definition.properties[SEGMENTS] = OptPropertyDef(anything)
        definition.options.append(AttrSizedOperandSegments(as_property=True))
    for index, result in enumerate(cls.schema.results):
        kind = VarResultDef if result.type.is_list else ResultDef
        definition.results.append((result.name or f"result{index}", kind(anything)))
    return definition
