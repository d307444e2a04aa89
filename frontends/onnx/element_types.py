"""ONNX's element types in terms of NumPy's dtypes and of element types of the IR."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
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


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


_ROWS: tuple[tuple[int, np.dtype, Attribute], ...] = (
    (TensorProto.FLOAT, np.dtype(np.float32), f32),
    (TensorProto.DOUBLE, np.dtype(np.float64), f64),
    (TensorProto.FLOAT16, np.dtype(np.float16), f16),
    (TensorProto.BFLOAT16, np.dtype(ml_dtypes.bfloat16), bf16),
    (TensorProto.BOOL, np.dtype(np.bool_), i1),
    (TensorProto.INT8, np.dtype(np.int8), i8),
    (TensorProto.INT16, np.dtype(np.int16), i16),
    (TensorProto.INT32, np.dtype(np.int32), i32),
    (TensorProto.INT64, np.dtype(np.int64), i64),
    (TensorProto.UINT8, np.dtype(np.uint8), _unsigned(8)),
    (TensorProto.UINT16, np.dtype(np.uint16), _unsigned(16)),
    (TensorProto.UINT32, np.dtype(np.uint32), _unsigned(32)),
    (TensorProto.UINT64, np.dtype(np.uint64), _unsigned(64)),
)
ELEMENT_TYPES: dict[int, Attribute] = {code: element for code, _, element in _ROWS}
"""By ONNX's code; what is not here (8-bit floats, 4 and 2 bits, strings, complex) is refused."""
DTYPES: dict[Attribute, np.dtype] = {element: dtype for _, dtype, element in _ROWS}
CODES: dict[Attribute, int] = {element: code for code, _, element in _ROWS}
ELEMENT_OF_DTYPE: dict[np.dtype, Attribute] = {dtype: element for _, dtype, element in _ROWS}

LIMITS: dict[Attribute, tuple[int, int]] = {
    element: _limits(dtype.itemsize * 8, dtype.kind == "i")
    for _, dtype, element in _ROWS
    if dtype.kind in "iu"
}
"""Least and greatest number of each integer type."""

FLOATS: tuple[Attribute, ...] = (f16, bf16, f32, f64)


def name_of(code: int) -> str:
    """ONNX's own name of an element type: FLOAT8E4M3FN."""
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(code) if code in known else f"element type {code}"  # pyright: ignore[reportArgumentType]
