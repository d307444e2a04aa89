"""`apply-schedule`: kernels become explicit loops, vectors and parallel regions.

What they become stands in the attributes of the kernel and its nests (`choose-schedule` writes
them); nothing is decided here. What the attributes do not say is off: loops over scalars on one
thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, ReshapeOp
from lamina.dialects.loop.schedules import ProductTasksAttr
from lamina.passes.fusion.outline_kernels import KERNEL, verify_kernel_function
from lamina.passes.schedule.combine import identity_value
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.kernel_parts import Part, parts_of, schedules_of
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.product_kernel import schedule_product_kernel
from lamina.passes.schedule.row_kernel import schedule_row_kernel
from lamina.passes.schedule.stages import is_temporary, schedule_of
from lamina.passes.schedule.unstructured_ops import schedule_unstructured


@dataclass(frozen=True)
class ApplySchedulePass(ModulePass):
    """Replace the nests of every outlined kernel by the loops that its schedule asks for."""

    name = "apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
                verify_kernel_function(function)
                apply_schedule(function)


def apply_schedule(function: func.FuncOp) -> None:
    """Replace the body of one bufferized kernel function as its schedule says.

    Raises InputError for a schedule that the kernel cannot have.
    """
    old = function.body.block
    nests = [op for op in old.ops if isinstance(op, GenericOp)]
    if not nests and not any(isinstance(op, UNSTRUCTURED_OPS) for op in old.ops):
        return
    new = Block(arg_types=[a.type for a in old.args])
    emit = Emitter(new)
    memory = Memory(streamed=_streamed(nests))
    for argument, replacement in zip(old.args, new.args, strict=True):
        replacement.name_hint = argument.name_hint
        kind = argument.type
        assert isinstance(kind, MemRefType)
        count = 1
        for extent in kind.get_shape():
            count *= extent
        flat = ReshapeOp(replacement, MemRefType(kind.element_type, [count]))
        memory.flat[argument] = emit.add(flat)
    parts = parts_of(function)
    schedules = schedules_of(function, parts)
    for nest in nests:
        if 0 in nest.extents:
            fill_with_identity(emit, nest, memory)
    for part, tasks in zip(parts, schedules, strict=True):
        _apply(emit, part, memory, tasks)
    new.add_op(func.ReturnOp.create())
    function.detach_region(function.body)
    function.add_region(Region(new))


def _apply(emit: Emitter, part: Part, memory: Memory, tasks: Any) -> None:
    if part.op is not None:
        schedule_unstructured(emit, part.op, memory, tasks)
    elif part.kind is ProductTasksAttr:
        schedule_product_kernel(emit, part.stages, memory, tasks)
    elif part.pairs is not None:
        part.pairs.schedule(emit, memory, tasks)
    else:
        schedule_row_kernel(emit, part.stages, memory, tasks)


def _streamed(nests: list[GenericOp]) -> frozenset[SSAValue]:
    """The buffers that nests store past the caches."""
    found: set[SSAValue] = set()
    for nest in nests:
        for number in schedule_of(nest).nontemporal or ():
            if is_temporary(nest.outs[number]):
                raise illegal(nest, f"nontemporal: result {number} stays in the kernel")
            found.add(nest.outs[number])
    return frozenset(found)


def fill_with_identity(emit: Emitter, nest: GenericOp, memory: Memory) -> None:
    """What a reduction over an empty domain gives: its combiner's identity everywhere.

    An empty sum is 0.0, though sums start at -0.0, which alone keeps the sign of every zero.
    """
    for out, combiner in zip(nest.outs, nest.combiner_names, strict=True):
        kind = out.type
        assert isinstance(kind, MemRefType)
        if combiner == "store" or is_temporary(out):
            continue
        identity = identity_value(combiner, kind.element_type)
        if combiner == "add":
            identity = number_attribute(0, kind.element_type)
        value = emit.constant(identity)
        fill(emit, value, memory.flat[out], prod(kind.get_shape()))


def fill(emit: Emitter, value: SSAValue, flat: SSAValue, count: int) -> None:
    """Write one scalar to every element of a rank-1 memref."""

    def one(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        inner.run(memref.StoreOp.get(value, flat, [inner.value(at)]))
        return values

    emit.loop(0, count, 1, [], one)
