"""The verifier of table ops. Messages name the argument and what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    NoneType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.schema.extended_rules import extended_rule
from lamina.dialects.schema.grammar import ELEMENT_TYPES, Kind, Result
from lamina.dialects.schema.result_rules.unsettled_dtypes import UNSETTLED
from lamina.dialects.schema.slots import PRESENT_SUFFIX, SEGMENTS, Role, Slot, unpack_segments
from lamina.dialects.schema.values import DYNAMIC, NONE, decode, describe, fits

if TYPE_CHECKING:
    from lamina.dialects.schema.op import SchemaOp

_TENSOR, _TENSORS, _MIXED = Role.TENSOR, Role.TENSORS, Role.MIXED


_MOST_VALID = 1 << 14
_valid: set[tuple[Any, ...]] = set()
"""What has been verified, by op, properties and types of operands and results. Each contract asks
again for each op, and programs repeat their layers."""


def verify_op(op: SchemaOp) -> None:
    """Raises VerifyException if `op` breaks its schema or its result rule."""
    key = _key(op)
    if key is not None and key in _valid:
        return
    _verify(op)
    if key is not None:
        if len(_valid) >= _MOST_VALID:
            _valid.clear()
        _valid.add(key)


def _key(op: SchemaOp) -> tuple[Any, ...] | None:
    """All that verifying depends on; None where that is more: where numbers come from, and what
    rules of extensions say."""
    kinds = tuple([operand.type for operand in op._operands])
    if extended_rule(op.name) is not None or not all(isinstance(k, TensorType) for k in kinds):
        return None
    results = tuple([result.type for result in op.results])
    return type(op), kinds, results, tuple(op.properties.items())


def _verify(op: SchemaOp) -> None:
    for name, attribute in op.properties.items():
        _verify_property(op, name, attribute)
    _verify_operands(op)
    _verify_result_kinds(op)
    try:
        expected = op.infer_result_types()
    except ValueError as error:
        raise VerifyException(str(error)) from None
    if expected is not None:
        _verify_result_types(op, expected)


def _verify_property(op: SchemaOp, name: str, attribute: Attribute) -> None:
    slot = op.slots.by_name.get(name)
    if slot is not None and slot.kind is not Kind.TENSOR:
        if not fits(attribute, slot.type):
            given = "none" if attribute == NONE else attribute
            raise VerifyException(f"argument '{name}' must be {describe(slot.type)}, not {given}")
        return
    if name == SEGMENTS and op.slots.needs_segments:
        return
    listed = op.slots.by_name.get(name.removesuffix(PRESENT_SUFFIX))
    if listed is None or not listed.type.optional_elements or name == listed.name:
        raise VerifyException(op._no_argument(name))


def _verify_operands(op: SchemaOp) -> None:
    slots = op.slots
    try:
        sizes = slots.sizes(op)
    except ValueError as error:
        raise VerifyException(str(error)) from None
    operands = op._operands
    offset = 0
    for slot in slots.all:
        role = slot.role
        if role is Role.CONSTANT:
            if slot.needed and slot.name not in op.properties:
                raise VerifyException(f"argument '{slot.name}' is missing")
            continue
        size = sizes[slot.segment]
        if role is _TENSOR:
            if size == 1:
                _verify_tensor(slot, operands[offset])
            elif size or slot.needed:
                _wrong_count(slot, size)
        else:
            _verify_several(op, slot, operands[offset : offset + size])
        offset += size


def _wrong_count(slot: Slot, size: int) -> None:
    if not size:
        raise VerifyException(f"argument '{slot.name}' is missing")
    raise VerifyException(f"argument '{slot.name}' must be {describe(slot.type)}, not {size}")


def _verify_tensor(slot: Slot, value: SSAValue) -> None:
    kind = value.type
    if not isinstance(kind, TensorType):
        raise VerifyException(f"argument '{slot.name}' must be {describe(slot.type)}, not {kind}")
    if kind.element_type not in ELEMENT_TYPES:
        raise VerifyException(
            f"argument '{slot.name}' has element type {kind.element_type}; "
            f"known are {', '.join(ELEMENT_TYPES.values())}"
        )


def _verify_several(op: SchemaOp, slot: Slot, values: Sequence[SSAValue]) -> None:
    if slot.role is _TENSORS:
        for value in values:
            _verify_tensor(slot, value)
        present = op.properties.get(slot.name + PRESENT_SUFFIX)
        if present is not None and sum(unpack_segments(present) or (-1,)) != len(values):
            raise VerifyException(
                f"property '{slot.name}{PRESENT_SUFFIX}' must be an array of i32 with as many 1 as "
                f"there are tensors in '{slot.name}', {len(values)}"
            )
        return
    for value in values:
        _verify_number(slot, value)
    attribute = op.properties.get(slot.name)
    if slot.role is _MIXED:
        if len(values) + (attribute is not None) > 1:
            raise VerifyException(f"argument '{slot.name}' is given twice")
        if slot.needed and not values and attribute is None:
            raise VerifyException(f"argument '{slot.name}' is missing")
        return
    if slot.needed and attribute is None:
        raise VerifyException(f"argument '{slot.name}' is missing")
    entries = None if attribute is None else decode(attribute, slot.type)
    wanted = entries.count(DYNAMIC) if entries else 0
    if wanted != len(values):
        raise VerifyException(
            f"argument '{slot.name}' has {wanted} dynamic entries but {len(values)} operands"
        )


def _verify_number(slot: Slot, value: SSAValue) -> None:
    kind = value.type
    if kind == i64 or isinstance(kind, IndexType):
        return
    if slot.kind is Kind.SCALAR and kind in (f64, i1):
        return
    is_scalar = slot.kind is Kind.SCALAR and isinstance(kind, AnyFloat)
    is_number = kind in ELEMENT_TYPES and (is_scalar or isinstance(kind, IntegerType))
    if is_number and _is_function_argument(value):
        return  # of any width that tensors have: `number-arguments` makes one of ATen's of it
    allowed = "i64, index, f64 or i1" if slot.kind is Kind.SCALAR else "i64 or index"
    raise VerifyException(f"argument '{slot.name}' must be a number of type {allowed}, not {kind}")


def _is_function_argument(value: SSAValue) -> bool:
    holder = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    return isinstance(holder, FuncOp)


def _verify_result_kinds(op: SchemaOp) -> None:
    wanted = op.schema.results
    given = op.results
    lists = sum(r.type.is_list or r.type.base.startswith("Dict") for r in wanted)
    if not lists and len(given) != len(wanted):
        raise VerifyException(f"has {len(wanted)} results, not {len(given)}")
    if len(given) < len(wanted) - lists:
        raise VerifyException(f"has at least {len(wanted) - lists} results, not {len(given)}")
    if lists:
        for result in given:
            if not isinstance(result.type, TensorType | NoneType):
                raise VerifyException(f"results must be tensors, not {result.type}")
        return
    for place, (result, value) in enumerate(zip(wanted, given, strict=True)):
        _verify_result_kind(result, value.type, place)


def _verify_result_kind(result: Result, kind: Attribute, place: int) -> None:
    base = result.type.base
    if base == "Tensor":
        if isinstance(kind, TensorType):
            if kind.element_type not in ELEMENT_TYPES:
                raise VerifyException(f"result {place} has element type {kind.element_type}")
            return
        if isinstance(kind, NoneType):  # gradients that were not asked for
            return
        raise VerifyException(f"result {place} must be a tensor, not {kind}")
    allowed = _NUMBER_RESULTS.get(base)
    if allowed is not None and kind not in allowed:
        text = " or ".join(map(str, allowed))
        raise VerifyException(f"result {place} must be {text}, not {kind}")


_NUMBER_RESULTS: dict[str, tuple[Attribute, ...]] = {
    "int": (i64,),
    "SymInt": (i64, IndexType()),
    "float": (f64,),
    "bool": (i1,),
    "SymBool": (i1,),
    "Scalar": (f64, i64, i1),
}


def _verify_result_types(op: SchemaOp, expected: Sequence[Attribute]) -> None:
    given = [result.type for result in op.results]
    unsettled = UNSETTLED.get(op.overload_name, ())
    if len(given) == len(expected) and all(
        compatible(kind, wanted) or (place in unsettled and _same_but_rounding(kind, wanted))
        for place, (kind, wanted) in enumerate(zip(given, expected, strict=True))
    ):
        return
    raise VerifyException(
        f"the result must be {_types(expected)}, not {_types(given) if given else 'nothing'}"
    )


def _types(kinds: Sequence[Any]) -> str:
    return ", ".join(map(str, kinds))


_ROUNDED: tuple[Attribute, ...] = (f16, bf16, f32)


def _same_but_rounding(given: Attribute, expected: Attribute) -> bool:
    """Compatible but for one being f32 and the other a half float."""
    if not isinstance(given, TensorType) or not isinstance(expected, TensorType):
        return False
    if given.element_type not in _ROUNDED or expected.element_type not in _ROUNDED:
        return False
    return compatible(TensorType(expected.element_type, given.get_shape()), expected)


def compatible(given: Attribute, expected: Attribute) -> bool:
    """Equal, where a dynamic dim equals any size; undefined results are taken as they are."""
    if given is expected or given == expected or isinstance(given, NoneType):
        return True
    if not isinstance(given, TensorType) or not isinstance(expected, TensorType):
        return False
    if given.element_type != expected.element_type:
        return False
    left, right = given.get_shape(), expected.get_shape()
    return len(left) == len(right) and all(
        a == b or a < 0 or b < 0 for a, b in zip(left, right, strict=True)
    )
