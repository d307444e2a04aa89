"""Constant arguments as attributes and back, and as text."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from lamina.dialects.schema.grammar import Kind, SchemaType

DYNAMIC = -(2**63)
"""Stands in a static list where an operand gives the entry, as in MLIR."""


def encode(value: Any, kind: SchemaType) -> Attribute:
    """The attribute of a constant. Raises TypeError if the value does not fit the kind."""
    if value is None:
        return NoneAttr()
    if kind.is_list:
        return _encode_list(value, kind)
    return _encode_one(value, kind.kind)


def _encode_list(value: Any, kind: SchemaType) -> Attribute:
    if not isinstance(value, list | tuple):
        if kind.size is None and not isinstance(value, int | float):
            raise TypeError(f"expected a list of {kind.base}, got {value!r}")
        value = [value] * (kind.size or 1)
    if kind.kind in (Kind.INT, Kind.SYMINT):
        for entry in value:
            if not isinstance(entry, int):
                raise TypeError(f"expected a list of {kind.base}, got {list(value)!r}")
        return DenseArrayBase.from_list(i64, [int(v) for v in value])
    if kind.kind is Kind.FLOAT:
        return DenseArrayBase.from_list(f64, [float(v) for v in value])
    return ArrayAttr([_encode_one(v, kind.kind) for v in value])


def _encode_one(value: Any, kind: Kind) -> Attribute:
    if kind is Kind.DTYPE and isinstance(value, TypeAttribute):
        return value
    if kind is Kind.BOOL and isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if kind in (Kind.INT, Kind.SYMINT) and isinstance(value, int):
        return IntegerAttr(int(value), i64)
    if kind is Kind.FLOAT and isinstance(value, int | float):
        return FloatAttr(float(value), f64)
    if kind is Kind.SCALAR:
        if isinstance(value, bool):
            return BoolAttr.from_bool(value)
        if isinstance(value, int):
            return IntegerAttr(value, i64)
        if isinstance(value, float):
            return FloatAttr(value, f64)
        if isinstance(value, complex):
            return ArrayAttr([FloatAttr(value.real, f64), FloatAttr(value.imag, f64)])
    if kind in (Kind.STR, Kind.WORD) and isinstance(value, str):
        return StringAttr(value)
    raise TypeError(f"expected {kind.value}, got {value!r}")


def decode(attribute: Attribute) -> Any:
    """The Python constant of an attribute; types stay attributes."""
    match attribute:
        case NoneAttr():
            return None
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if attribute.type == i1 else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(attribute.get_values())
        case ArrayAttr():
            return [decode(a) for a in attribute.data]
        case _:
            return attribute


def decode_as(attribute: Attribute, kind: SchemaType) -> Any:
    """`decode`, with pairs read as complex numbers where the schema wants a number."""
    value = decode(attribute)
    if kind.kind is Kind.SCALAR and not kind.is_list and isinstance(value, list):
        return complex(*value)
    return value


def fits(attribute: Attribute, kind: SchemaType) -> bool:
    """Whether a property may stand for an argument of this kind."""
    if isinstance(attribute, NoneAttr):
        return True
    value = decode_as(attribute, kind)
    try:
        encode(value, kind)
    except (TypeError, ValueError):
        return False
    return not (kind.kind is Kind.DTYPE and not isinstance(value, TypeAttribute))


# Text


def print_constant(printer: Printer, value: Any) -> None:
    """Print a decoded constant in the python-call syntax."""
    match value:
        case None:
            printer.print_string("none")
        case bool():
            printer.print_string("true" if value else "false")
        case int():
            printer.print_string(str(value))
        case float():
            printer.print_string(float_text(value))
        case complex():
            parts = f"{float_text(value.real)}, {float_text(value.imag)}"
            printer.print_string(f"complex({parts})")
        case str():
            printer.print_string_literal(value)
        case list():
            printer.print_string("[")
            printer.print_list(value, lambda v: print_constant(printer, v))
            printer.print_string("]")
        case _:
            printer.print_attribute(value)


def float_text(value: float) -> str:
    """Shortest text that reads back as the same double, in MLIR's float syntax."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + exponent + power


_WORDS: dict[str, Any] = {
    "none": None,
    "true": True,
    "false": False,
    "inf": math.inf,
    "nan": math.nan,
}


def parse_constant(parser: Parser, kind: SchemaType) -> Any:
    """Parse one constant of the kind; None for `none`."""
    if kind.kind is Kind.DTYPE and not kind.is_list:
        if parser.parse_optional_keyword("none"):
            return None
        return parser.parse_type()
    if parser.parse_optional_punctuation("["):
        return _parse_rest_of_list(parser, kind)
    return _parse_one(parser, kind)


def _parse_rest_of_list(parser: Parser, kind: SchemaType) -> list[Any]:
    values: list[Any] = []
    while not parser.parse_optional_punctuation("]"):
        values.append(_parse_one(parser, kind))
        if not parser.parse_optional_punctuation(","):
            parser.parse_punctuation("]")
            break
    return values


def _parse_one(parser: Parser, kind: SchemaType) -> Any:
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    number = parser.parse_optional_number()
    if number is not None:
        return float(number) if kind.kind is Kind.FLOAT else number
    if parser.parse_optional_punctuation("-"):
        parser.parse_keyword("inf")
        return -math.inf
    word = parser.parse_optional_identifier()
    if word == "complex":
        parts = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: float(_parse_one(parser, kind))
        )
        return complex(*parts)
    if word in _WORDS:
        return _WORDS[word]
    parser.raise_error(f"expected a constant of type {kind.base}")


__all__ = [
    "DYNAMIC",
    "decode",
    "decode_as",
    "encode",
    "fits",
    "float_text",
    "parse_constant",
    "print_constant",
]
