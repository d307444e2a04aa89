"""Ops without successors, made without xDSL's constructors.

Most ops of a scheduled program are such. `Operation.create` takes three times as long, the
constructors of classes, which sort out what stands in order here, ten times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef

OpT = TypeVar("OpT", bound=IRDLOperation)

_NONE: Mapping[str, Attribute] = {}


def plain_op(
    kind: type[OpT],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    regions: Sequence[Region] = (),
) -> OpT:
    """What `kind.create` makes: an op of these operands, with defaults for what is not given."""
    op = kind.__new__(kind)
    uses = tuple([Use(op, number) for number in range(len(operands))])
    for operand, use in zip(operands, uses, strict=True):
        operand.add_use(use)
    op._operands, op._operand_uses = SSAValues(operands), uses
    op.results = SSAValues([OpResult(type_, op, n) for n, type_ in enumerate(result_types)])
    op.properties, op.attributes = {**_defaults(kind), **properties}, {}
    op.location = UNKNOWN_LOC
    for region in regions:
        op.add_region(region)
    return op


@cache
def _defaults(kind: type[IRDLOperation]) -> dict[str, Attribute]:
    """The properties that ops of this class have where none are given."""
    definitions = kind.get_irdl_definition().properties
    return {
        name: definition.default_value
        for name, definition in definitions.items()
        if definition.default_value is not None and not isinstance(definition, OptionalDef)
    }
