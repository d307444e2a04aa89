"""Op classes whose fields are read by place.

What xDSL derives from a definition asks for each field of each op which kind of field it is, and
goes through a view of the operands, 1 to 2 us each time. Here a field is a property that knows its
place, 0.1 to 0.3 us, of the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.irdl.operations import (
    BeforeVariadicSingleAccessor,
    PropertyAccessor,
    UniqueVariadicAccessor,
    VarIRConstruct,
)

OpT = TypeVar("OpT", bound=IRDLOperation)

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""The operands of any op, as they are: `op.operands` is a view, which asks the op for each."""

_place: Callable[[Any, int], Any] = tuple.__getitem__
"""A place of a tuple of values: these count their way through `isinstance` to it by themselves."""


def first_result(op: Operation) -> OpResult:
    """`op.results[0]`."""
    return _place(op.results, 0)


_HOLDERS = {
    VarIRConstruct.OPERAND: "_operands",
    VarIRConstruct.RESULT: "results",
    VarIRConstruct.REGION: "regions",
}
"""Where an op has its fields of each kind, as a tuple."""


def op_definition(kind: type[OpT]) -> type[OpT]:
    """As xDSL's `irdl_op_definition`, with fields that are read by place.

    Those whose place depends on the op's segments are left as they are.
    """
    kind = irdl_op_definition(kind)
    for name, accessor in list(vars(kind).items()):
        read = _reader(accessor)
        if read is not None:
            setattr(kind, name, property(read, accessor.__set__))
    return kind


def _reader(accessor: Any) -> Callable[[Any], Any] | None:
    """What reads the field of an op that an accessor of xDSL's stands for; None for other kinds."""
    match accessor:
        case PropertyAccessor():
            return _property(accessor.property_name)
        case BeforeVariadicSingleAccessor() if accessor.construct in _HOLDERS:
            return _single(_HOLDERS[accessor.construct], accessor.idx)
        case UniqueVariadicAccessor() if accessor.construct in _HOLDERS:
            held = attrgetter(_HOLDERS[accessor.construct])
            if accessor.num_defs == 1:
                return held
            return lambda op: accessor.index(held(op))
        case _:
            return None


def _property(name: str) -> Callable[[Operation], Attribute]:
    return lambda op: op.properties[name]


def _single(holder: str, place: int) -> Callable[[Any], Any]:
    take = _place
    if holder == "_operands":
        return lambda op: take(op._operands, place)
    if holder == "results":
        return lambda op: take(op.results, place)
    return lambda op: op.regions[place]
