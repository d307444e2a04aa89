"""Calls of programs that stand in the module of the caller, at whatever layer it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from lamina.passes.calls.callee_programs import callee_of, callee_programs
from lamina.passes.refusal import invalid


def called_program(op: Operation, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """The results of the program that an op calls; None for other ops.

    Raises InputError if there is no such program, and as the interpreter.
    """
    name = callee_of(op)
    if name is None:
        return None
    from lamina.runtime.interpreters.run import run_module

    module = _outermost(op)
    programs = callee_programs(module)
    if name not in programs:
        raise invalid(op, f"no program is called @{name}")
    program = programs[name].clone()
    for other in programs.values():
        program.body.block.add_op(other.clone())
    return run_module(program, inputs)


def _outermost(op: Operation) -> ModuleOp:
    found: Operation = op
    while (above := found.parent_op()) is not None:
        found = above
    assert isinstance(found, ModuleOp)
    return found
