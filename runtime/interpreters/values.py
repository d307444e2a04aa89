"""Values of the interpreters: NumPy arrays for tensors, Python numbers for scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute

from lamina.dialects.errors import UnsupportedError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_FLOATS = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
_COMPLEX = {"f32": np.complex64, "f64": np.complex128}


@cache
def numpy_dtype(element: Attribute) -> np.dtype[np.generic]:
    """The NumPy dtype of an element type; bfloat16's is that of ml_dtypes."""
    if isinstance(element, IntegerType):
        width = element.width.data
        if width == 1:
            return np.dtype(np.bool_)
        unsigned = element.signedness.data == Signedness.UNSIGNED
        return np.dtype(f"{'u' if unsigned else 'i'}{width // 8}")
    if isinstance(element, ComplexType) and str(element.element_type) in _COMPLEX:
        return np.dtype(_COMPLEX[str(element.element_type)])
    if str(element) in _FLOATS:
        return np.dtype(_FLOATS[str(element)])
    if str(element) == "index":
        return np.dtype(np.int64)
    raise UnsupportedError(str(element), "is not interpreted", nearest="bf16, f16, f32, f64")


def as_type(value: object, declared: Attribute) -> object:
    """`value` as the declared type says: an array of that dtype, or a Python number."""
    if not isinstance(declared, TensorType):
        return value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    dtype = numpy_dtype(declared.get_element_type())
    array = np.asarray(value)
    if array.dtype != dtype:
        if array.dtype.kind == "c" and dtype.kind not in "cb":
            raise ValueError(f"computed complex numbers, declared {declared}")
        array = array.astype(dtype)
    shape: Sequence[int] = declared.get_shape()
    fits = len(shape) == array.ndim and all(
        extent < 0 or extent == actual for extent, actual in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"computed shape {list(array.shape)}, declared {declared}")
    return array


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this dtype are computed in single precision: f16 and bf16."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a real float; NumPy files bfloat16 under no kind of its own."""
    return dtype.kind == "f" or is_half(dtype)


def joined(x: Array, count: int) -> Array:
    """`x` with its last `count` axes as one, also where it has no elements."""
    kept = x.ndim - count
    return x.reshape(*x.shape[:kept], prod(x.shape[kept:]))


def extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    """`np.max` or `np.min` as a function that takes arrays without elements, too."""

    def run(x: Array, **keywords: Any) -> Any:
        if x.size:
            return function(x, **keywords)
        return function(x, initial=x.dtype.type(0), **keywords)

    return run


greatest, least = extremum(np.max), extremum(np.min)
