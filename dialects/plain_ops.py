"""Ops without successors, made without xDSL's constructors.

`Operation.create` takes three times as long, the constructors of classes, which sort out what
stands in order here, ten times. `plain_op` makes an op of any class; `init_plain` is for the
constructors of our own. `verify_alone` looks at an op as plainly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import (
    Attribute,
    ErasedSSAValue,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.utils.exceptions import VerifyException

OpT = TypeVar("OpT", bound=IRDLOperation)

_NONE: Mapping[str, Attribute] = {}
_NEW_USE = Use.__new__


class PlainResult(OpResult[Attribute]):
    """A result whose fields, and whose identity, Python gives without a call of a function."""

    type = property(attrgetter("_type"))  # pyright: ignore[reportAssignmentType]
    owner = property(attrgetter("op"))  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__
    __eq__ = object.__eq__  # pyright: ignore[reportAssignmentType]


def plain_op(
    kind: type[OpT],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    regions: Sequence[Region] = (),
) -> OpT:
    """What `kind.create` makes: an op of these operands, with defaults for what is not given."""
    op = kind.__new__(kind)
    _fill(op, operands, result_types, {**_defaults(kind), **properties}, regions)
    return op


def init_plain(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: dict[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> None:
    """What `Operation.__init__` does, for a class without defaults; `properties` are kept."""
    _fill(op, operands, result_types, {} if properties is None else properties, regions)
    Operation.__post_init__(op)  # it may go to an implicit builder's block


def _fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: dict[str, Attribute],
    regions: Sequence[Region],
) -> None:
    uses: list[Use] = []
    for number, operand in enumerate(operands):  # `operand.add_use(Use(op, number))`
        use = _NEW_USE(Use)
        use._operation, use._index, use._prev_use = op, number, None
        use._next_use = first = operand.first_use
        if first is not None:
            first._prev_use = use
        operand.first_use = use
        uses.append(use)
    op._operands, op._operand_uses = SSAValues(operands), tuple(uses)
    op.results = SSAValues([PlainResult(type_, op, n) for n, type_ in enumerate(result_types)])
    op.properties, op.attributes = properties, {}
    op.location = UNKNOWN_LOC
    for region in regions:
        op.add_region(region)


@cache
def _defaults(kind: type[IRDLOperation]) -> dict[str, Attribute]:
    """The properties that ops of this class have where none are given."""
    definitions = kind.get_irdl_definition().properties
    return {
        name: definition.default_value
        for name, definition in definitions.items()
        if definition.default_value is not None and not isinstance(definition, OptionalDef)
    }


def verify_alone(op: Operation) -> None:
    """`Operation.verify(op, verify_nested_ops=False)`.

    Of an op that others follow, and that has no successors, that asks for operands that were
    erased, and for the op's own verifier.
    """
    block = op.parent
    follows = block is not None and block._last_op is not op
    if not follows or op._successors or ErasedSSAValue in map(type, op._operands):
        Operation.verify(op, verify_nested_ops=False)
        return
    try:
        op.verify_()
    except VerifyException as error:
        op.emit_error(f"Operation does not verify: {error}", error)
