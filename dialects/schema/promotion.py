"""Torch's type promotion over xDSL element types (torch.result_type and its relatives)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

Number = bool | int | float | complex

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)
c32 = ComplexType(f16)
c64 = ComplexType(f32)
c128 = ComplexType(f64)

BOOL, INTEGER, FLOAT, COMPLEX = range(4)
"""Categories of element types; a higher one wins over a lower."""

DTYPES: dict[str, Attribute] = {
    "bool": i1,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "float16": f16,
    "bfloat16": bf16,
    "float32": f32,
    "float64": f64,
    "complex32": c32,
    "complex64": c64,
    "complex128": c128,
}
"""Torch's name of each element type."""

_BARE_UNSIGNED = (ui16, ui32, ui64)
_DEFAULT = {BOOL: i1, INTEGER: i64, FLOAT: f32, COMPLEX: c64}
_FLOAT_RANK = {bf16: 0, f16: 1, f32: 2, f64: 3}
_COMPLEX_OF = {f16: c32, bf16: c64, f32: c64, f64: c128}


@lru_cache(256)
def category(dtype: Attribute) -> int:
    """BOOL, INTEGER, FLOAT or COMPLEX. Raises ValueError for a type no tensor of torch has."""
    if isinstance(dtype, IntegerType):
        return BOOL if dtype.width.data == 1 else INTEGER
    if isinstance(dtype, Float32Type | Float64Type | Float16Type | BFloat16Type):
        return FLOAT
    if isinstance(dtype, ComplexType):
        return COMPLEX
    raise ValueError(f"{dtype} is not an element type of tensors here")


def category_of_number(value: Number) -> int:
    """The category of a Python number."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INTEGER
    return FLOAT if isinstance(value, float) else COMPLEX


@lru_cache(1024)
def promote(a: Attribute, b: Attribute) -> Attribute:
    """torch.promote_types. Raises ValueError where torch has no common type."""
    if a == b:
        return a
    low, high = sorted((a, b), key=category)
    if category(high) != FLOAT and (a in _BARE_UNSIGNED or b in _BARE_UNSIGNED):
        raise ValueError(f"{a} and {b} have no common type in torch; convert one of them")
    if category(high) == COMPLEX:
        other = low if category(low) == FLOAT else real_of(low)
        part = promote(real_of(high), other) if category(low) >= FLOAT else real_of(high)
        return complex_of(part)
    if category(high) == FLOAT:
        return high if category(low) < FLOAT else _promote_floats(a, b)
    return high if category(low) == BOOL else _promote_integers(a, b)


def _promote_floats(a: Attribute, b: Attribute) -> Attribute:
    if {a, b} == {f16, bf16}:
        return f32
    return max(a, b, key=_FLOAT_RANK.__getitem__)


def _promote_integers(a: Attribute, b: Attribute) -> Attribute:
    if ui8 in (a, b):
        other = a if b == ui8 else b
        return i16 if other == i8 else other
    assert isinstance(a, IntegerType) and isinstance(b, IntegerType)
    return a if a.width.data > b.width.data else b


@lru_cache(64)
def real_of(dtype: Attribute) -> Attribute:
    """The type of a complex type's parts; other types themselves."""
    return dtype.element_type if isinstance(dtype, ComplexType) else dtype


@lru_cache(64)
def complex_of(dtype: Attribute) -> Attribute:
    """The complex type with parts of that float type (complex64 for integers)."""
    return dtype if isinstance(dtype, ComplexType) else _COMPLEX_OF.get(dtype, c64)


@lru_cache(64)
def float_of(dtype: Attribute) -> Attribute:
    """What `exp` and the like make of a type: bool and integers become f32."""
    return f32 if category(dtype) < FLOAT else dtype


@lru_cache(64)
def sum_of(dtype: Attribute) -> Attribute:
    """What `sum` and `prod` make of a type: bool and integers become i64."""
    return i64 if category(dtype) < FLOAT else dtype


def default_of(value: Number) -> Attribute:
    """The element type that a Python number alone gets."""
    return _DEFAULT[category_of_number(value)]


def _combine(higher: Attribute | None, lower: Attribute | None) -> Attribute | None:
    """Join types of two priorities: the lower one only decides by a higher category."""
    if higher is None or lower is None:
        return higher or lower
    kind, other = category(higher), category(lower)
    if kind == COMPLEX:
        return higher
    if kind == FLOAT:
        return complex_of(higher) if other == COMPLEX else higher
    if kind == BOOL:
        return promote(higher, lower)
    return lower if other >= FLOAT else higher


def result_dtype(operands: Iterable[TensorType | Number]) -> Attribute:
    """torch.result_type of tensors and Python numbers, in which 0-d tensors and then numbers only
    count by category. Raises ValueError without operands or without a common type."""
    tensors: Attribute | None = None
    scalars: Attribute | None = None
    numbers: Attribute | None = None
    for operand in operands:
        if not isinstance(operand, TensorType):
            dtype = default_of(operand)
            numbers = dtype if numbers is None else promote(numbers, dtype)
        elif operand.shape.data:
            dtype = operand.element_type
            if tensors != dtype:
                tensors = dtype if tensors is None else promote(tensors, dtype)
        else:
            dtype = operand.element_type
            scalars = dtype if scalars is None else promote(scalars, dtype)
    found = tensors if scalars is numbers is None else _combine(tensors, _combine(scalars, numbers))
    if found is None:
        raise ValueError("no operand to take an element type from")
    return found
