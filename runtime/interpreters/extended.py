"""The interpreter of ops to which extensions give a meaning, or which only they lower."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from lamina.dialects.errors import LaminaError
from lamina.dialects.extension_tables import extended
from lamina.runtime.interpreters.aten import TableFunctions, decomposed
from lamina.runtime.interpreters.aten_ops.registry import widened
from lamina.runtime.interpreters.values import as_type


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for these op classes; an op without one is run as what it is lowered to."""
    return TableFunctions(dict.fromkeys(op_classes, _run))


def _run(interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    entry = extended("interpreter", op.name)
    if entry is None:
        return decomposed(interpreter, op, args)
    about = f"the interpreter of {op.name}"
    try:
        given = entry.value(op, *map(widened, args))
    except LaminaError:
        raise
    except Exception as error:
        raise entry.error(f"{about} raises", error) from error
    values = given if isinstance(given, tuple | list) else (given,)
    if len(values) != len(op.results):
        raise entry.error(f"{about} gives {len(values)} values for {len(op.results)} results")
    try:
        return tuple(as_type(v, r.type) for v, r in zip(values, op.results, strict=True))
    except (ValueError, TypeError) as error:
        raise entry.error(f"{about}: {error}") from error
