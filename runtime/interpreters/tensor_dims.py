"""`tensor.dim` over NumPy: where programs of open sizes get them from."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.tensor import DimOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Operation


@register_impls
class DimFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `tensor.dim`."""

    @impl(DimOp)
    def dim(self, interpreter: Interpreter, op: DimOp, args: PythonValues) -> PythonValues:
        array, place = args
        return (array.shape[int(place)],)


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """The interpreter's functions, whatever ops a program has."""
    return DimFunctions()
