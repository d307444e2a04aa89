"""`verify-bufferized`: the contract of kernels on buffers, which `apply-schedule` takes.

Entries only call kernels; a kernel is nests, or one unstructured op, over its arguments and buffers
of its own. Nests may stand in loops, and run slices of their domains there. Schedules need not be
there; those that are must be legal as they stand, or as `choose-schedule` completes them (`open`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.op_list import list_ops
from lamina.passes.contracts.contracts import verify_addressable
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.kernel_memory import verify_kernel_memory
from lamina.passes.contracts.task_loops import BETWEEN, has_tasks, ops_around, verify_task_loops
from lamina.passes.contracts.verify_loop import verify_nest_body
from lamina.passes.contracts.verify_scheduled import verify_calls, verify_entry, verify_signature
from lamina.passes.fusion.outline_kernels import KERNEL, verify_kernel_function
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.refusal import invalid
from lamina.passes.schedule.apply_schedule import apply_schedule
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of

KERNEL_OPS = (GenericOp, *UNSTRUCTURED_OPS, memref.AllocOp, func.ReturnOp)
"""What stands in a kernel whose schedule is still to be carried out."""


@dataclass(frozen=True)
class VerifyBufferizedPass(ModulePass):
    """Check that entries only call kernels, that kernels are nests over memory, and schedules.

    `open` schedules are still to be completed: only what their kernels are is checked.
    """

    name = "verify-bufferized"

    open: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_entries(op, "bufferized")
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        listed = {f: list_ops(f) for f in functions}
        verify_addressable(chain.from_iterable(listed.values()))
        verify_calls(listed)
        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp) or not function.body.blocks:
                raise invalid(function, "functions with bodies stand at module level")
            verify_signature(function)
            if ENTRY in function.attributes:
                verify_entry(function, listed[function])
            elif KERNEL in function.attributes:
                _verify_kernel(function, is_open=self.open)
            else:
                raise invalid(function, f"it is neither an entry ({ENTRY}) nor a kernel ({KERNEL})")
        verify_kernel_memory(op)


def _verify_kernel(function: func.FuncOp, *, is_open: bool) -> None:
    if not any(isinstance(op, (GenericOp, *UNSTRUCTURED_OPS)) for op in function.body.walk()):
        return  # explicit loops already
    allowed = (*KERNEL_OPS, *BETWEEN) if has_tasks(function) else KERNEL_OPS
    for op in ops_around(function.body.block):
        if not isinstance(op, allowed):
            raise invalid(op, "is no nest, buffer or return of a kernel on buffers")
        if isinstance(op, GenericOp | OrderedNest):
            verify_nest_body(op)
    _verify_written(function)
    verify_task_loops(function)
    verify_kernel_function(function)
    schedules_of(function, parts_of(function))
    if not is_open:
        apply_schedule(function.clone())


def _verify_written(function: func.FuncOp) -> None:
    """Buffers of a kernel are written before they are read."""
    unwritten: set[SSAValue] = set()
    for op in ops_around(function.body.block):
        if isinstance(op, memref.AllocOp):
            unwritten.add(op.memref)
        if isinstance(op, GenericOp) and not unwritten.isdisjoint(op.inputs):
            raise invalid(op, "it reads a buffer of the kernel that nothing has written")
        unwritten.difference_update(op.operands)
