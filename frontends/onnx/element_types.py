"""ONNX's element types in terms of NumPy's dtypes and of element types of the IR."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from lamina.dialects.narrow_types import NARROW_TYPES, NarrowType
from lamina.dialects.schema.promotion import ui8, ui16, ui32, ui64
from lamina.runtime.entry import NARROW_DTYPES, NUMPY_DTYPES


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


_CODES: dict[int, Attribute] = {
    TensorProto.FLOAT: f32,
    TensorProto.DOUBLE: f64,
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.BOOL: i1,
    TensorProto.INT8: i8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.INT64: i64,
    TensorProto.UINT8: ui8,
    TensorProto.UINT16: ui16,
    TensorProto.UINT32: ui32,
    TensorProto.UINT64: ui64,
}
_ROWS = [(code, NUMPY_DTYPES[str(element)], element) for code, element in _CODES.items()]
ELEMENT_TYPES: dict[int, Attribute] = {code: element for code, _, element in _ROWS}
"""By ONNX's code; what is here neither nor in `NARROW` (strings, complex numbers) is refused."""
DTYPES: dict[Attribute, np.dtype] = {element: dtype for _, dtype, element in _ROWS}
CODES: dict[Attribute, int] = {element: code for code, _, element in _ROWS}
ELEMENT_OF_DTYPE: dict[np.dtype, Attribute] = {dtype: element for _, dtype, element in _ROWS}

LIMITS: dict[Attribute, tuple[int, int]] = {
    element: _limits(dtype.itemsize * 8, dtype.kind == "i")
    for _, dtype, element in _ROWS
    if dtype.kind in "iu"
}
"""Least and greatest number of each integer type."""

_NARROW_NAMES = {
    "FLOAT8E4M3FN": "f8E4M3FN",
    "FLOAT8E4M3FNUZ": "f8E4M3FNUZ",
    "FLOAT8E5M2": "f8E5M2",
    "FLOAT8E5M2FNUZ": "f8E5M2FNUZ",
    "FLOAT8E8M0": "f8E8M0FNU",
    "FLOAT6E2M3": "f6E2M3FN",
    "FLOAT6E3M2": "f6E3M2FN",
    "FLOAT4E2M1": "f4E2M1FN",
    "INT4": "i4",
    "UINT4": "ui4",
    "INT2": "i2",
    "UINT2": "ui2",
}
_KNOWN_NAMES = set(TensorProto.DataType.keys())  # an older package does not know them all
NARROW: dict[int, NarrowType] = {
    TensorProto.DataType.Value(onnx): NARROW_TYPES[name]  # pyright: ignore[reportArgumentType]
    for onnx, name in _NARROW_NAMES.items()
    if onnx in _KNOWN_NAMES
}
"""Types that the program holds as codes, by ONNX's code."""
NARROW_CODES: dict[NarrowType, int] = {narrow: code for code, narrow in NARROW.items()}
NARROW_OF_DTYPE: dict[np.dtype, NarrowType] = {
    NARROW_DTYPES[narrow.name]: narrow for narrow in NARROW.values()
}

FLOATS: tuple[Attribute, ...] = (f16, bf16, f32, f64)


def element_type(code: int) -> NarrowType | Attribute | None:
    """The type that a code of ONNX's names, None for one that is not taken."""
    return NARROW.get(code, ELEMENT_TYPES.get(code))


def name_of(code: int) -> str:
    """ONNX's own name of an element type: FLOAT8E4M3FN."""
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(code) if code in known else f"element type {code}"  # pyright: ignore[reportArgumentType]
