"""Arrays of the literals that a program has, by the names of the arguments that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.lowering.outline_literals import name_literals
from lamina.passes.contracts.entry_attributes import VALUE, arguments_of
from lamina.runtime.entry import NUMPY_DTYPES, element_name

_PLAIN = frozenset({"f32", "f64", "i8", "i16", "i32", "i64"})
"""Element types that attributes hold as NumPy does."""


def bound_literals(module: ModuleOp) -> dict[str, np.ndarray[Any, Any]]:
    """The literals of a program, whether they stand in it as constants or as bound arguments.

    Constants get their names here.
    """
    return {
        **{name: array_of(value) for name, value in name_literals(module).items()},
        **{name: value for f in _functions(module) for name, value in given_literals(f).items()},
    }


def given_literals(function: FuncOp) -> dict[str, np.ndarray[Any, Any]]:
    """Arguments of a function whose values stand beside them, by name."""
    return {
        argument.name: array_of(value)
        for argument in arguments_of(function)
        if isinstance(value := argument.entries.get(VALUE), DenseIntOrFPElementsAttr)
    }


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp)]


def array_of(value: DenseIntOrFPElementsAttr) -> np.ndarray[Any, Any]:
    """The elements of an attribute as an array of its shape and dtype."""
    element, shape = value.get_element_type(), tuple(value.get_shape())
    dtype = NUMPY_DTYPES[element_name(element)]
    if element_name(element) in _PLAIN:
        return np.frombuffer(value.data.data, dtype).reshape(shape)
    values: Any = value.get_values()
    if isinstance(element, ComplexType):
        values = [complex(real, imag) for real, imag in values]
    return np.array(values).astype(dtype).reshape(shape)
