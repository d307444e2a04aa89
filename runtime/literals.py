"""Arrays of the literals that a program has, by the names of the arguments that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.lowering.outline_literals import name_literals
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import VALUE
from lamina.runtime.entry import NUMPY_DTYPES, element_name

_PLAIN = frozenset({"f32", "f64", "i8", "i16", "i32", "i64"})
"""Element types that attributes hold as NumPy does."""


Literals = dict[DenseIntOrFPElementsAttr, "np.ndarray[Any, Any]"]
"""Arrays by the attributes that hold them."""


def bound_literals(module: ModuleOp, known: Literals) -> dict[str, np.ndarray[Any, Any]]:
    """The literals of a program, whether they stand in it as constants or as bound arguments.

    Constants get their names here. Equal literals are one array, which is put into `known`.
    """
    values = {
        **name_literals(module),
        **{name: value for f in _functions(module) for name, value in _given_values(f).items()},
        **{
            name: value
            for program in callee_programs(module).values()
            for f in _functions(program)
            for name, value in _given_values(f).items()
        },
    }
    for value in values.values():
        if value not in known:
            known[value] = array_of(value)
    return {name: known[value] for name, value in values.items()}


def given_literals(function: FuncOp) -> dict[str, np.ndarray[Any, Any]]:
    """Arguments of a function whose values stand beside them, by name."""
    return {name: array_of(value) for name, value in _given_values(function).items()}


def _given_values(function: FuncOp) -> dict[str, DenseIntOrFPElementsAttr]:
    return {
        argument.name: value
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
