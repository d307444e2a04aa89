"""The table of NumPy functions and what they are called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.modifications import is_new
from lamina.runtime.interpreters.values import Array, is_half, numpy_dtype


class Call:
    """One op being interpreted: its arguments by schema name, decoded, and its result types.

    Tensors are arrays, constants Python values, dtypes NumPy dtypes. Half floats are given as f32,
    in which an op is computed; `as_type` rounds its result, once. `storage_dtype` tells which
    type it is.
    """

    def __init__(self, op: Any, args: tuple[Any, ...]) -> None:
        self.op = op
        self._values = dict(zip(op.operands, args, strict=True))

    def __getitem__(self, name: str) -> Any:
        """The argument `name`."""
        return self._decode(self.op.arg(name))

    def get(self, name: str, default: Any = None) -> Any:
        """The argument `name`, or `default` if the schema has none of that name."""
        return self[name] if self.has(name) else default

    def has(self, name: str) -> bool:
        """Whether the schema has an argument `name`."""
        return any(argument.name == name for argument in self.op.schema.args)

    def _decode(self, value: Any) -> Any:
        if isinstance(value, SSAValue):
            return widened(self._values[value])
        if isinstance(value, (list, tuple)):
            return [self._decode(item) for item in value]
        if isinstance(value, Attribute):
            return _computed_in(numpy_dtype(value))
        return value

    def cast(self, name: str) -> Array:
        """The argument `name`, tensor or number, as an array of the result's dtype.

        Complex numbers stay complex: what has a real result (`abs`) makes it of both parts.
        """
        array = np.asarray(self[name])
        dtype = self.dtype
        if array.dtype.kind == "c" and dtype.kind not in "cb":
            return array.astype(np.complex64 if dtype.itemsize <= 4 else np.complex128)
        return array.astype(dtype)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The dtype in which the first result is computed: f32 for half floats."""
        return _computed_in(self.storage_dtype)

    @property
    def storage_dtype(self) -> np.dtype[np.generic]:
        """The dtype of the first result."""
        declared = self.op.results[0].type
        element = declared.get_element_type() if isinstance(declared, TensorType) else declared
        return numpy_dtype(element)

    @property
    def shape(self) -> tuple[int, ...]:
        """The declared shape of the first result."""
        return tuple(self.op.results[0].type.get_shape())

    @property
    def name(self) -> str:
        """The overload name, for example `add.Tensor`."""
        return self.op.name.partition(".")[2]


Function = Callable[[Call], Any]

FUNCTIONS: dict[str, Function] = {}


def interprets(*names: str) -> Callable[[Function], Function]:
    """Register the decorated function for these overloads; `.default` may be left out."""

    def register(function: Function) -> Function:
        for short in names:
            name = short if "." in short else f"{short}.default"
            assert is_new(FUNCTIONS, name, function), f"{name} is interpreted twice"
            FUNCTIONS[name] = function
        return function

    return register


def _computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if is_half(dtype) else dtype


def widened(value: Any) -> Any:
    """Arrays of half floats as f32, exactly; everything else as it is."""
    half = isinstance(value, np.ndarray) and is_half(value.dtype)
    return value.astype(np.float32) if half else value


def wide(array: Array) -> Array:
    """Single floats as f64, and complex numbers of them alike, to accumulate in; other dtypes
    unchanged."""
    if array.dtype == np.complex64:
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype == np.float32 else array
