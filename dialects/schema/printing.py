"""The custom text of table ops: a Python call, then the types.

Arguments are positional as long as they are tensors, may be, and none before them was left out;
from then on they are named. What equals the schema's default is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.printer import Printer

from lamina.dialects.schema.grammar import ELEMENT_TYPES, Kind
from lamina.dialects.schema.slots import Slot
from lamina.dialects.schema.values import same

if TYPE_CHECKING:
    from lamina.dialects.schema.op import SchemaOp


def print_op(op: SchemaOp, printer: Printer) -> None:
    """What follows the op's name: `(%x, dim = [1]) {attributes} : (types) -> types`."""
    pieces: list[str] = []
    separator = "("
    named = False
    for slot, value in zip(op.slots.all, op.args().values(), strict=True):
        if _left_out(slot, value):
            named = True
            continue
        if slot.kind is not Kind.TENSOR or slot.arg.kwarg_only:
            named = True
        pieces.append(separator)
        if named:
            pieces.append(f"{slot.name} = ")
        separator = ", "
        if isinstance(value, SSAValue):
            _add_value(printer, pieces, value)
        elif isinstance(value, list) and any(isinstance(entry, SSAValue) for entry in value):
            _add_mixed_list(printer, pieces, value)
        else:
            pieces.append(constant_text(value))
    pieces.append("()" if separator == "(" else ")")
    if op.attributes:
        printer.print_string("".join(pieces))
        pieces.clear()
        printer.print_op_attributes(op.attributes)
    operands = ", ".join([type_text(printer, operand.type) for operand in op._operands])
    results = [type_text(printer, result.type) for result in op.results]
    joined = results[0] if len(results) == 1 else f"({', '.join(results)})"
    pieces.append(f" : ({operands}) -> {joined}")
    printer.print_string("".join(pieces))


def _add_value(printer: Printer, pieces: list[str], value: SSAValue) -> None:
    """Add the value's name; a use before its definition is left to the printer to name."""
    name = printer._ssa_values.get(value)
    if name is not None:
        pieces.append(f"%{name}")
        return
    printer.print_string("".join(pieces))
    pieces.clear()
    printer.print_ssa_value(value)


def _add_mixed_list(printer: Printer, pieces: list[str], entries: Sequence[Any]) -> None:
    separator = "["
    for entry in entries:
        pieces.append(separator)
        separator = ", "
        if isinstance(entry, SSAValue):
            _add_value(printer, pieces, entry)
        else:
            pieces.append(constant_text(entry))
    pieces.append("]")


def _left_out(slot: Slot, value: Any) -> bool:
    if slot.arg.required:
        return False
    if slot.kind is Kind.TENSOR:
        return value is None or value == slot.default
    return same(value, slot.default)


# Constants


def constant_text(value: Any) -> str:
    """The text of a decoded constant."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, str):
        return _string_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(constant_text, value))}]"
    if isinstance(value, complex):
        return f"complex({float_text(value.real)}, {float_text(value.imag)})"
    return ELEMENT_TYPES.get(value) or str(value)


def float_text(value: float) -> str:
    """Shortest text that reads back as the same double, in MLIR's float syntax."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + exponent + power


@lru_cache(1024)
def _string_text(value: str) -> str:
    stream = StringIO()
    Printer(stream).print_string_literal(value)
    return stream.getvalue()


# Types

_TEXTS: WeakKeyDictionary[Printer, dict[int, tuple[Attribute, str]]] = WeakKeyDictionary()
"""Texts of the types that a printer has met, by identity; the type is kept so that its id is."""


def type_text(printer: Printer, kind: Attribute) -> str:
    """The text of a type; each is put together once for a printer."""
    texts = _TEXTS.get(printer)
    if texts is None:
        texts = _TEXTS[printer] = {}
    known = texts.get(id(kind))
    if known is None:
        known = texts[id(kind)] = (kind, _text_of(kind))
    return known[1]


def _text_of(kind: Attribute) -> str:
    if isinstance(kind, TensorType) and isinstance(kind.encoding, NoneAttr):
        element = ELEMENT_TYPES.get(kind.element_type)
        if element is not None:
            dims = ["?" if dim == DYNAMIC_INDEX else str(dim) for dim in kind.get_shape()]
            return f"tensor<{'x'.join([*dims, element])}>"
    return str(kind)
