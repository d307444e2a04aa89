"""The functions of a module that are defined in it."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp


def defined_functions(module: ModuleOp) -> list[func.FuncOp]:
    """The functions that have a body, in order."""
    functions = (op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    return [function for function in functions if function.body.blocks]
