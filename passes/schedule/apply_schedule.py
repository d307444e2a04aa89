"""`apply-schedule`: kernels become explicit loops, vectors and parallel regions.

What they become stands in the attributes of the kernel and its nests (`choose-schedule` writes
them); nothing is decided here. What the attributes do not say is off: loops over scalars on one
thread. Clauses that have a pass of their own are carried out by it; what is left are packed
products and unstructured ops.
"""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.ir import Operation

from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
from lamina.dialects.loop.schedules import SCHEDULE, ProductTasksAttr, UnstructuredTasksAttr
from lamina.dialects.op_list import list_ops
from lamina.passes.fusion.outline_kernels import verify_kernel_function
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.call_extents import drop_extents
from lamina.passes.schedule.kernel_body import KernelBody
from lamina.passes.schedule.mask_cut_sums import mask_cut_sums
from lamina.passes.schedule.nest_steps import has_step
from lamina.passes.schedule.parallelize import Scheduled, divide_into_tasks, parallelize
from lamina.passes.schedule.product_kernel import schedule_product_kernel
from lamina.passes.schedule.unstructured_ops import schedule_unstructured
from lamina.passes.schedule.vectorize import vectorize

OTHER_TASKS = (ProductTasksAttr, UnstructuredTasksAttr)
"""What schedules parts whose nests stand in no loops yet."""


class ApplySchedulePass(KernelPass):
    """Replace the nests of every outlined kernel by the loops that its schedule asks for."""

    name = "apply-schedule"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        verify_kernel_function(kernel)
        apply_schedule(kernel)


def apply_schedule(function: func.FuncOp) -> None:
    """Replace the body of one bufferized kernel function as its schedule says.

    Raises InputError for a schedule that the kernel cannot have.
    """
    ops = list_ops(function)
    if mask_cut_sums(function, ops):
        ops = list_ops(function)
    nests = [op for op in ops if isinstance(op, GenericOp)]
    if not nests and not any(isinstance(op, UNSTRUCTURED_OPS) for op in ops):
        return
    schedule = function.attributes.get(SCHEDULE)
    if any(has_step(nest) for nest in nests):
        _take_steps(function)
    parts = divide_into_tasks(function)
    if schedule is not None:
        function.attributes[SCHEDULE] = schedule  # reports show it
    vectorize(function)
    if left := [entry for entry in parts if entry[0].kind in OTHER_TASKS]:
        _apply_rest(function, left)


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


def _apply_rest(function: func.FuncOp, parts: list[Scheduled]) -> None:
    """Emit packed products with what stands around them, and unstructured ops, where they stand."""
    first = {part.op or part.stages[0].op: (part, tasks) for part, tasks in parts}
    body = KernelBody(function)
    done: list[Operation] = []
    for op in body.ops:
        if (entry := first.get(op)) is not None:  # pyright: ignore[reportArgumentType]
            part, tasks = entry
            if part.op is not None:
                schedule_unstructured(body.emit, part.op, body.memory, tasks)
            else:
                schedule_product_kernel(body.emit, part.stages, body.memory, tasks)
        if isinstance(op, (GenericOp, memref.AllocOp, *UNSTRUCTURED_OPS)):
            done.append(op)
        else:
            body.keep(op)
    body.finish(done)
    drop_extents(function)
