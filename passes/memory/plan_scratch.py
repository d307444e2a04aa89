"""`plan-scratch`: what kernels keep for themselves is on the stack, or in the arena if it is long.

Schedules allocate scratch without asking how much there is. A kernel whose allocations exceed
`stack` bytes gets the largest of them in the arena instead: each thread of the team has a part of
its own there, and kernels, which run one after the other on a thread, use the same part. A team
that runs such kernels has at most `Target.cores` threads, as many as there are parts. Scratch that
is needed at different times of a task shares bytes.

`lamina.scratch` on a kernel says how many bytes of stack and of arena a thread takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i8,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from lamina.codegen.target import STACK_BYTES, Target
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.loop.team import ThreadOp, team_of
from lamina.dialects.op_list import ops_of
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.kernel_passes import EntryPass
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.plan_memory import (
    Buffer,
    Order,
    assign_offsets,
    byte_size,
    users_through_views,
)

SCRATCH = "lamina.scratch"
"""Attribute of a kernel: bytes of stack and bytes of arena that each thread takes."""

PAGE_BYTES = 4096
"""Parts of threads begin at pages: no line of memory belongs to two of them."""


@dataclass(frozen=True)
class PlanScratchPass(EntryPass):
    """Move scratch beyond `stack` bytes to the arena, a part for each thread of `target`."""

    name = "plan-scratch"

    target: str = "host"
    stack: int = STACK_BYTES

    def keeps(self, kernel: func.FuncOp) -> bool:
        return stack_bytes(kernel) <= self.stack

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = [f for f in functions if KERNEL in f.attributes and f.body.blocks]
        moved = {f: _moved(f, self.stack) for f in kernels if SCRATCH not in f.attributes}
        moved = {f: buffers for f, buffers in moved.items() if buffers}
        if not moved:
            return
        part = max(assign_offsets(buffers) for buffers in moved.values())
        part = -(-part // PAGE_BYTES) * PAGE_BYTES
        cores = Target.parse(self.target).cores
        for kernel, buffers in moved.items():
            _take_from_part(kernel, buffers, part, cores)
        names = {kernel.sym_name.data for kernel in moved}
        for function in functions:
            if ENTRY in function.attributes:
                _give_parts(function, names, part, cores)


def _moved(kernel: func.FuncOp, limit: int) -> list[Buffer]:
    """The largest allocations, so many that the others fit the stack; notes what stays and goes."""
    allocations = ops_of(kernel, memref.AllocaOp)
    if not allocations:
        return []
    order = Order.of(kernel.body.block)
    found = [_buffer(op, order) for op in allocations]
    found.sort(key=lambda buffer: -buffer.size)
    stack = sum(buffer.size for buffer in found)
    count = 0
    while stack > limit:
        stack -= found[count].size
        count += 1
    arena = assign_offsets(found[:count])
    kernel.attributes[SCRATCH] = DenseArrayBase.from_list(i64, [stack, arena])
    return found[:count]


def _buffer(op: memref.AllocaOp, order: Order) -> Buffer:
    kind = op.memref.type
    assert isinstance(kind, MemRefType)
    touched = [p for user in users_through_views(op.memref) for p in order.span(user, op)]
    first = min(touched, default=order.positions[op])
    size = -(-byte_size(kind) // ALIGNMENT) * ALIGNMENT
    return Buffer([op], size, first, max(touched, default=first))  # pyright: ignore - see Buffer


def stack_bytes(kernel: func.FuncOp) -> int:
    """Bytes that a kernel allocates on the stack, each buffer in whole lines."""
    return bytes_of(ops_of(kernel, memref.AllocaOp))


def bytes_of(allocations: Iterable[memref.AllocaOp]) -> int:
    """Bytes that these take on the stack, each in whole lines."""
    kinds = [op.memref.type for op in allocations]
    return sum(
        -(-byte_size(k) // ALIGNMENT) * ALIGNMENT for k in kinds if isinstance(k, MemRefType)
    )


def _take_from_part(kernel: func.FuncOp, buffers: list[Buffer], part: int, parts: int) -> None:
    """Replace allocations by views of the part of the kernel's new last argument."""
    block = kernel.body.block
    scratch = block.insert_arg(MemRefType(i8, [part * parts]), len(block.args))
    scratch.name_hint = "scratch"
    first = block.first_op
    assert first is not None
    thread, size = ThreadOp(), _index(part)
    start = arith.MuliOp(thread.result, size.result)
    block.insert_ops_before([thread, size, start], first)
    for buffer in buffers:
        (allocation,) = buffer.allocations
        offset = _index(buffer.offset)
        place = arith.AddiOp(start.result, offset.result)
        view = memref.ViewOp.create(
            operands=[scratch, place.result], result_types=[allocation.memref.type]
        )
        home = allocation.parent
        assert home is not None
        home.insert_ops_before([offset, place], allocation)
        Rewriter.replace_op(allocation, view)
    kernel.update_function_type()


def _give_parts(entry: func.FuncOp, names: set[str], part: int, parts: int) -> None:
    """Lengthen the arena of an entry by the parts of all threads, and hand them to the kernels."""
    calls = [
        op
        for op in entry.body.walk()
        if isinstance(op, func.CallOp) and op.callee.root_reference.data in names
    ]
    if not calls:
        return
    block = entry.body.block
    arena = _arena(entry)
    kind = arena.type
    assert isinstance(kind, MemRefType)
    end = -(-byte_size(kind) // PAGE_BYTES) * PAGE_BYTES
    arena = Rewriter.replace_value_with_new_type(arena, MemRefType(i8, [end + part * parts]))
    offset = _index(end)
    scratch = memref.ViewOp.create(
        operands=[arena, offset.result], result_types=[MemRefType(i8, [part * parts])]
    )
    scratch.results[0].name_hint = "scratch"
    assert block.first_op is not None
    block.insert_ops_before([offset, scratch], block.first_op)
    for call in calls:
        new = func.CallOp(call.callee, [*call.arguments, scratch.results[0]], [])
        new.attributes.update(call.attributes)
        new.location = call.location
        team = team_of(call)
        Rewriter.replace_op(call, new)
        if team is not None:
            team.bound(parts)
    entry.update_function_type()


def _arena(entry: func.FuncOp) -> SSAValue:
    kinds = entry.arg_attrs.data if entry.arg_attrs else ()
    for argument, described in zip(entry.body.block.args, kinds, strict=False):
        assert isinstance(described, DictionaryAttr)
        if described.data.get("lamina.kind") == StringAttr("arena"):
            return argument
    raise UnsupportedError(
        f"@{entry.sym_name.data}",
        "its kernels need more scratch than the stack has, and it has no arena",
        nearest="plan-memory, which makes one, in front of plan-scratch",
    )


def _index(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, IndexType()))


__all__ = ["SCRATCH", "PlanScratchPass", "bytes_of", "stack_bytes"]
