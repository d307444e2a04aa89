"""`apply-schedule`: kernels become explicit loops, vectors and parallel regions.

What they become stands in the attributes of the kernel and its nests (`choose-schedule` writes
them); nothing is decided here. What the attributes do not say is off: loops over scalars on one
thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, ReshapeOp
from lamina.dialects.loop.kernel_nests import part_of
from lamina.dialects.loop.schedules import SCHEDULE, ProductTasksAttr
from lamina.passes.contracts.task_loops import LOOPS
from lamina.passes.fusion.outline_kernels import kernel_functions, verify_kernel_function
from lamina.passes.schedule.combine import identity_value
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.kernel_parts import Part
from lamina.passes.schedule.live_rows import expand_live_ops
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.nest_steps import has_step
from lamina.passes.schedule.parallelize import Scheduled, divide_into_tasks, parallelize
from lamina.passes.schedule.product_kernel import schedule_product_kernel
from lamina.passes.schedule.row_tasks import emit_loop, emit_task
from lamina.passes.schedule.stages import is_temporary, schedule_of
from lamina.passes.schedule.unstructured_ops import schedule_unstructured


@dataclass(frozen=True)
class ApplySchedulePass(ModulePass):
    """Replace the nests of every outlined kernel by the loops that its schedule asks for."""

    name = "apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel_functions(op):
            verify_kernel_function(function)
            apply_schedule(function)


def apply_schedule(function: func.FuncOp) -> None:
    """Replace the body of one bufferized kernel function as its schedule says.

    Raises InputError for a schedule that the kernel cannot have.
    """
    old = function.body.block
    nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
    if not nests and not any(isinstance(op, UNSTRUCTURED_OPS) for op in old.ops):
        return
    schedule = function.attributes.get(SCHEDULE)
    if any(has_step(nest) for nest in nests):
        _take_steps(function)
        nests = [op for op in function.body.walk() if isinstance(op, GenericOp)]
    parts = divide_into_tasks(function)
    if schedule is not None:
        function.attributes[SCHEDULE] = schedule  # reports show it
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
    for nest in nests:
        if 0 in nest.extents:
            fill_with_identity(emit, nest, memory)
    for part, tasks in parts:
        if part.op is not None:
            _apply(emit, part, memory, tasks)
    _apply_in_order(emit, list(old.ops), parts, memory)
    new.add_op(func.ReturnOp.create())
    function.detach_region(function.body)
    function.add_region(Region(new))
    expand_live_ops(function, memory.flat)


def _take_steps(function: func.FuncOp) -> None:
    """Carry out the clauses that have a pass of their own, in place."""
    # Few kernels have any.
    from lamina.passes.schedule.cache_read import cache_reads
    from lamina.passes.schedule.compute_at import compute_at
    from lamina.passes.schedule.tile_nests import tile_nests

    parallelize(function)
    cache_reads(function)
    tile_nests(function)
    compute_at(function)


def _apply_in_order(
    emit: Emitter, ops: Sequence[Operation], parts: Sequence[Scheduled], memory: Memory
) -> None:
    """Emit what stands in a kernel: loops around nests, and the parts whose nests stand alone."""
    by_nest = {stage.op: entry for entry in parts for stage in entry[0].stages}
    first = emit.block.first_op
    done: set[Part] = set()
    task: list[GenericOp] = []
    for op in ops:
        op.detach()
    for op in ops:
        if isinstance(op, (memref.AllocOp, func.ReturnOp, *UNSTRUCTURED_OPS)):
            continue
        if task and not (
            isinstance(op, GenericOp) and op.symbols and part_of(op) == part_of(task[0])
        ):
            emit_task(emit, task, memory)
            task = []
        if isinstance(op, LOOPS):
            emit_loop(emit, op, memory)
        elif not isinstance(op, GenericOp):
            if isinstance(op, arith.ConstantOp) and first is not None:
                emit.block.insert_op_before(op, first)
                emit.note(op)
            else:
                emit.again(op)
        elif op.symbols:
            task.append(op)
        elif (entry := by_nest.get(op)) is not None and entry[0] not in done:
            done.add(entry[0])
            _apply(emit, entry[0], memory, entry[1])
    if task:
        emit_task(emit, task, memory)


def _apply(emit: Emitter, part: Part, memory: Memory, tasks: Any) -> None:
    if part.op is not None:
        schedule_unstructured(emit, part.op, memory, tasks)
    elif part.kind is ProductTasksAttr:
        schedule_product_kernel(emit, part.stages, memory, tasks)
    else:
        emit_task(emit, [stage.op for stage in part.stages], memory)


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
    for results, combiner, monoid in nest.reductions:
        for place, number in enumerate(results):
            out = nest.outs[number]
            kind = out.type
            assert isinstance(kind, MemRefType)
            if is_temporary(out):
                continue
            if monoid is not None:
                identity = monoid.identities[place]
            elif combiner == "add":
                identity = number_attribute(0, kind.element_type)
            else:
                identity = identity_value(combiner, kind.element_type)
            value = emit.constant(identity)
            fill(emit, value, memory.flat[out], prod(kind.get_shape()))


def fill(emit: Emitter, value: SSAValue, flat: SSAValue, count: int) -> None:
    """Write one scalar to every element of a rank-1 memref."""

    def one(inner: Emitter, at: Index) -> None:
        inner.run(memref.StoreOp.get(value, flat, [inner.value(at)]))

    emit.each(0, count, 1, one)
