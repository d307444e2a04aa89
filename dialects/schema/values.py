"""Constant arguments as attributes and back.

Attributes are immutable, and programs repeat the same few constants: those that `encode` makes
are shared, which makes it several times faster.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute

from lamina.dialects.schema.grammar import ELEMENT_TYPES, Kind, SchemaType


class RuntimeInt(int):
    """What stands for an integer known only at run time in inferred result types: `DYNAMIC`."""


DYNAMIC = -(2**63)
"""Stands in a static list where an operand gives the entry, as in MLIR."""

NONE = UnitAttr()
"""The property of an argument that is None where the schema has another default."""

TRUE, FALSE = IntegerAttr(1, i1), IntegerAttr(0, i1)
_INT_LIMIT = 2**63


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _refuse(kind: SchemaType, value: object) -> TypeError:
    shown = repr(value)
    return TypeError(f"must be {describe(kind)}, not {shown[:60] + '...' * (len(shown) > 60)}")


def describe(kind: SchemaType) -> str:
    """What an argument may hold, in words: `a list of 2 integers`, `a number or none`."""
    noun = _NOUNS.get(kind.kind, kind.base)
    if kind.is_list:
        size = "" if kind.size is None or kind.size < 2 else f"{kind.size} "
        text = f"a list of {size}{noun}s"
    else:
        text = _article(noun)
    return text + (" or none" if kind.optional else "")


_NOUNS = {
    Kind.TENSOR: "tensor",
    Kind.SYMINT: "integer",
    Kind.INT: "integer",
    Kind.FLOAT: "float",
    Kind.BOOL: "boolean",
    Kind.SCALAR: "number",
    Kind.STR: "string",
    Kind.DTYPE: "element type",
    Kind.WORD: "string",
}


@lru_cache(8192)
def _integer(value: int) -> Attribute:
    return IntegerAttr(value, i64)


@lru_cache(4096)
def _nonzero_float(value: float) -> Attribute:
    return FloatAttr(value, f64)


_POSITIVE_ZERO, _NEGATIVE_ZERO = FloatAttr(0.0, f64), FloatAttr(-0.0, f64)


def _float(value: float) -> Attribute:
    if value:
        return _nonzero_float(value)
    return _POSITIVE_ZERO if math.copysign(1.0, value) > 0 else _NEGATIVE_ZERO


@lru_cache(8192)
def _integers(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(4096)
def segments(sizes: tuple[int, ...]) -> Attribute:
    """The `operandSegmentSizes` of these operand counts."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(4096)
def _string(value: str) -> Attribute:
    return StringAttr(value)


def _encode_int(value: Any) -> Attribute | None:
    fits = type(value) is int or (isinstance(value, int) and not isinstance(value, bool))
    return _integer(int(value)) if fits and -_INT_LIMIT <= value < _INT_LIMIT else None


def _encode_float(value: Any) -> Attribute | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return _float(float(value)) if fits else None


def _encode_bool(value: Any) -> Attribute | None:
    return (TRUE if value else FALSE) if isinstance(value, bool) else None


def _encode_scalar(value: Any) -> Attribute | None:
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int):
        return _encode_int(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, complex):
        return ArrayAttr([_float(value.real), _float(value.imag)])
    return None


def _encode_dtype(value: Any) -> Attribute | None:
    return value if isinstance(value, TypeAttribute) and value in ELEMENT_TYPES else None


def _encode_string(value: Any) -> Attribute | None:
    return _string(value) if isinstance(value, str) else None


_ENCODERS: dict[Kind, Callable[[Any], Attribute | None]] = {
    Kind.SYMINT: _encode_int,
    Kind.INT: _encode_int,
    Kind.FLOAT: _encode_float,
    Kind.BOOL: _encode_bool,
    Kind.SCALAR: _encode_scalar,
    Kind.DTYPE: _encode_dtype,
    Kind.STR: _encode_string,
    Kind.WORD: _encode_string,
}


def encode(value: Any, kind: SchemaType) -> Attribute:
    """The attribute of a constant. Raises TypeError if the value does not fit the kind.

    A list with a size in the schema (`int[2]`) may be given as one number, which is repeated.
    """
    if value is None:
        if kind.optional:
            return NONE
        raise _refuse(kind, value)
    if kind.is_list:
        return _encode_list(value, kind)
    found = _ENCODERS[kind.kind](value)
    if found is None:
        raise _refuse(kind, value)
    return found


def _encode_list(value: Any, kind: SchemaType) -> Attribute:
    if not isinstance(value, list | tuple):
        if kind.size is None or isinstance(value, str):
            raise _refuse(kind, value)
        value = (value,) * kind.size
    elif not list_length_fits(len(value), kind):
        raise _refuse(kind, value)
    if kind.kind is Kind.INT or kind.kind is Kind.SYMINT:
        for entry in value:
            if type(entry) is not int and _encode_int(entry) is None:
                raise _refuse(kind, value)
        try:
            return _integers(tuple(value))
        except struct.error:
            raise _refuse(kind, value) from None
    entries = [_ENCODERS[kind.kind](entry) for entry in value]
    if None in entries:
        raise _refuse(kind, value)
    if kind.kind is Kind.FLOAT:
        return DenseArrayBase.from_list(f64, [float(entry) for entry in value])
    return ArrayAttr(cast(Sequence[Attribute], entries))


def list_length_fits(length: int, kind: SchemaType) -> bool:
    """Whether a list argument may have that many entries.

    Torch repeats a single entry of a sized list, and reads an empty one as "the default"
    (`stride = []` is the kernel size). `int[1]` says nothing: it is torch's way to let one integer
    stand for a list of any length. Booleans are masks and have exactly the size.
    """
    if kind.size is None or kind.size == 1:
        return True
    return length == kind.size or (length < 2 and kind.kind is not Kind.BOOL)


def decode(attribute: Attribute, kind: SchemaType) -> Any:
    """The Python constant of an attribute that fits `kind`; types stay attributes."""
    if isinstance(attribute, IntegerAttr):
        value = attribute.value.data
        return bool(value) if attribute.type == i1 else value
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, DenseArrayBase):
        data = attribute.data.data
        code = "d" if kind.kind is Kind.FLOAT else "q"
        return list(struct.unpack(f"<{len(data) // 8}{code}", data))
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, UnitAttr):
        return None
    if isinstance(attribute, ArrayAttr):
        if kind.is_list:
            element = SchemaType(kind.kind, base=kind.base)
            return [decode(entry, element) for entry in attribute.data]
        real, imaginary = attribute.data
        return complex(decode(real, kind), decode(imaginary, kind))
    return attribute


def fits(attribute: Attribute, kind: SchemaType) -> bool:
    """Whether a property may stand for an argument of this kind."""
    if isinstance(attribute, UnitAttr):
        return kind.optional
    if not kind.is_list:
        return _FITTING[kind.kind](attribute)
    if kind.kind in (Kind.INT, Kind.SYMINT, Kind.FLOAT):
        wanted = f64 if kind.kind is Kind.FLOAT else i64
        return (
            isinstance(attribute, DenseArrayBase)
            and attribute.elt_type == wanted
            and list_length_fits(len(attribute.data.data) // 8, kind)
        )
    return (
        isinstance(attribute, ArrayAttr)
        and list_length_fits(len(attribute.data), kind)
        and all(map(_FITTING[kind.kind], attribute.data))
    )


def _is_integer(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.type == i64


def _is_bool(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.type == i1


def _is_float(attribute: Attribute) -> bool:
    return isinstance(attribute, FloatAttr) and attribute.type == f64


def _is_scalar(attribute: Attribute) -> bool:
    if isinstance(attribute, ArrayAttr):
        return len(attribute.data) == 2 and all(map(_is_float, attribute.data))
    return _is_integer(attribute) or _is_float(attribute) or _is_bool(attribute)


def _is_dtype(attribute: Attribute) -> bool:
    return attribute in ELEMENT_TYPES


def _is_string(attribute: Attribute) -> bool:
    return isinstance(attribute, StringAttr)


_FITTING: dict[Kind, Callable[[Attribute], bool]] = {
    Kind.SYMINT: _is_integer,
    Kind.INT: _is_integer,
    Kind.FLOAT: _is_float,
    Kind.BOOL: _is_bool,
    Kind.SCALAR: _is_scalar,
    Kind.DTYPE: _is_dtype,
    Kind.STR: _is_string,
    Kind.WORD: _is_string,
}


def same(value: Any, default: Any) -> bool:
    """Equal in value and in being a bool, an int or a float."""
    if isinstance(value, list | tuple) and isinstance(default, list):
        return len(value) == len(default) and all(map(same, value, default))
    return type(value) is type(default) and bool(value == default)


class UntoldError(Exception):
    """A result rule cannot tell how many results there are, where sizes are not known."""
