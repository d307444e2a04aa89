"""`schedule`: the loop nests of every kernel become explicit loops, vectors and parallel regions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.contraction import PANEL
from lamina.passes.outline_kernels import KERNEL
from lamina.passes.scheduling.emitter import Emitter
from lamina.passes.scheduling.product_kernel import schedule_product_kernel
from lamina.passes.scheduling.row_kernel import schedule_row_kernel
from lamina.passes.scheduling.stages import stages_of
from lamina.passes.scheduling.sweep import Memory


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Schedule every outlined kernel for a target (a name that `Target.parse` knows)."""

    name = "schedule"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
                schedule_kernel(function, target)


def schedule_kernel(function: func.FuncOp, target: Target) -> None:
    """Replace the body of one bufferized kernel function by its schedule."""
    old = function.body.block
    nests = [op for op in old.ops if isinstance(op, GenericOp)]
    if not nests:
        return
    new = Block(arg_types=[a.type for a in old.args])
    emit = Emitter(new)
    memory = Memory()
    for argument, replacement in zip(old.args, new.args, strict=True):
        replacement.name_hint = argument.name_hint
        kind = argument.type
        assert isinstance(kind, MemRefType)
        count = 1
        for extent in kind.get_shape():
            count *= extent
        flat = ReshapeOp(replacement, MemRefType(kind.element_type, [count]))
        memory.flat[argument] = emit.add(flat)
    if all(0 not in nest.extents for nest in nests):
        stages = stages_of(nests)
        if any(PANEL in nest.attributes for nest in nests):
            schedule_product_kernel(emit, stages, memory, target)
        else:
            schedule_row_kernel(emit, stages, memory, target)
    new.add_op(func.ReturnOp())
    function.detach_region(function.body)
    function.add_region(Region(new))
