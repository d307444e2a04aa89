"""`verify-scheduled`: the contract of what code generation takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from lamina.dialects.loop import BarrierOp, GenericOp, KernelOp, SingleOp, TeamOp
from lamina.passes.bufferize import ENTRY
from lamina.passes.entry_attributes import verify_entries
from lamina.passes.outline_kernels import KERNEL
from lamina.passes.team_steps import is_shared

ENTRY_OPS = frozenset(
    {
        "arith.constant",
        "memref.view",
        "memref.load",
        "memref.copy",
        "scf.if",
        "scf.while",
        "scf.for",
        "scf.condition",
        "scf.yield",
        "loop.reshape",
        "loop.row",
        "loop.poll",
        "loop.extern",
        "func.call",
        "func.return",
        "loop.team",
        "loop.single",
        "loop.barrier",
    }
)
KERNEL_DIALECTS = frozenset({"arith", "math", "memref", "vector", "scf", "loop", "cf", "func"})


@dataclass(frozen=True)
class VerifyScheduledPass(ModulePass):
    """Check that entries only call kernels and that kernels are explicit loops over memory."""

    name = "verify-scheduled"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_entries(op, "scheduled")
        kernels = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, func.FuncOp)}

        @cache
        def may_be_shared(name: str) -> bool:
            return name in kernels and is_shared(kernels[name].body.block)

        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp):
                raise DiagnosticException(f"verify-scheduled: {function.name} at module level")
            _verify_signature(function)
            if ENTRY in function.attributes:
                _verify_entry(function)
                for inner in function.body.walk():
                    if isinstance(inner, TeamOp):
                        _verify_team(inner, may_be_shared)
            elif KERNEL in function.attributes:
                _verify_kernel(function)
            else:
                raise DiagnosticException(
                    f"verify-scheduled: @{function.sym_name.data} is neither an entry "
                    f"({ENTRY}) nor a kernel ({KERNEL})"
                )


def _verify_signature(function: func.FuncOp) -> None:
    kind = function.function_type
    for value in kind.inputs.data:
        if not isinstance(value, MemRefType) or any(e < 0 for e in value.get_shape()):
            raise DiagnosticException(
                f"verify-scheduled: @{function.sym_name.data} takes {value}; arguments are memrefs "
                "of static shape"
            )
    if kind.outputs.data:
        raise DiagnosticException(
            f"verify-scheduled: @{function.sym_name.data} returns values; results are arguments"
        )


def _verify_entry(function: func.FuncOp) -> None:
    for op in function.body.walk():
        if op.name not in ENTRY_OPS:
            raise DiagnosticException(
                f"verify-scheduled: {op.name} in entry @{function.sym_name.data}; an entry only "
                "calls kernels, in branches and loops"
            )


def _verify_team(team: TeamOp, may_be_shared: Callable[[str], bool]) -> None:
    """Every thread runs what stands in a team, so only shared loops may write memory there."""
    for call in team.body.block.ops:
        if isinstance(call, SingleOp | BarrierOp):
            continue
        name = call.callee.root_reference.data if isinstance(call, func.CallOp) else call.name
        if not may_be_shared(name):
            raise DiagnosticException(
                f"verify-scheduled: a team runs {name} on every thread, and it is no kernel of "
                "parallel loops; loop.single runs it on one"
            )


def _verify_kernel(function: func.FuncOp) -> None:
    for op in function.body.walk():
        dialect = op.name.partition(".")[0]
        if isinstance(op, GenericOp | KernelOp) or dialect not in KERNEL_DIALECTS:
            raise DiagnosticException(
                f"verify-scheduled: {op.name} in kernel @{function.sym_name.data} is not scheduled"
            )
