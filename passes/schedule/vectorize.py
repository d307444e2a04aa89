"""`vectorize`: nests in tasks become loops over vectors, and what their schedules say besides.

Vectors run along the dimension that `vectorize` names; the last one is masked, unless the size is a
multiple of it. A nest without the clause is loops over scalars. So are kernels without rows, which
need no tasks. Nests that share loops (`compute_with`) hand on what they make in vectors; what else
the nests of a task hand on is scratch. Parts around packed products, and unstructured ops, stay:
`apply-schedule` carries these out.
"""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.ir import Operation

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.kernel_nests import part_of, rows_of, set_part
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.op_list import ops_of
from lamina.passes.contracts.task_loops import LOOPS
from lamina.passes.fusion.outline_kernels import verify_kernel_function
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.schedule.call_extents import drop_extents
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.kernel_body import KernelBody
from lamina.passes.schedule.kernel_parts import is_open
from lamina.passes.schedule.loop_ends import drop_scattered_ends
from lamina.passes.schedule.row_tasks import emit_loop, emit_task


class VectorizePass(KernelPass):
    """Replace nests in tasks by loops over vectors."""

    name = "vectorize"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        verify_kernel_function(kernel)
        vectorize(kernel)


def vectorize(function: func.FuncOp) -> None:
    """Lower the nests in tasks of a bufferized kernel function, in place.

    Raises InputError for nests whose rows are in no tasks yet, and for schedules that they cannot
    have.
    """
    nests = ops_of(function, GenericOp)
    products = {part_of(nest) for nest in nests if is_packed(nest)}
    left = {nest for nest in nests if is_open(nest) and part_of(nest) in products}
    if len(left) == len(nests):
        return
    for nest in nests:
        if is_open(nest) and nest not in left and rows_of(nest):
            raise illegal(nest, "its rows are not in tasks yet: run parallelize first")
    drop_scattered_ends(function, nests)
    loops = [op for op in block_ops(function.body.block) if isinstance(op, LOOPS)]
    apart = {loop for loop in loops if _hands_nothing_on(loop)}
    body = KernelBody(function)
    task: list[Operation] = []
    buffers: list[memref.AllocOp] = []
    for op in body.ops:
        if task and not _shares_task(op, task[0]):
            emit_task(body.emit, task, body.memory)
            task = []
        if op in apart and ops_of(op, GenericOp):
            emit_loop(body.emit, op, body.memory)
        elif isinstance(op, memref.AllocOp) and not any(
            u.operation in left for u in op.memref.uses
        ):
            buffers.append(op)
        elif not ops_of(op, GenericOp) or op in left:
            body.keep(op)
        elif isinstance(op, GenericOp) and 0 in op.extents:
            op.erase()
        else:
            task.append(op)
    if task:
        emit_task(body.emit, task, body.memory)
    body.finish(buffers)
    if not left:  # products that are yet to be carried out ask for the strides of a call as well
        drop_extents(function)
    for nest in left:  # parts are numbered from 0 on
        set_part(nest, sorted(products).index(part_of(nest)))


def _hands_nothing_on(loop: Operation) -> bool:
    """Whether what the nests in a loop share with others of the kernel is no buffer of it."""
    nests = ops_of(loop, GenericOp)
    touched = {v for nest in nests for v in nest.operands if isinstance(v.owner, memref.AllocOp)}
    return all(loop.is_ancestor(use.operation) for value in touched for use in value.uses)


def _shares_task(op: Operation, first: Operation) -> bool:
    """Whether an op behind a nest, or a loop of slices, that is in no loop is of the same task."""
    if isinstance(op, GenericOp) and isinstance(first, GenericOp):
        sliced = bool(op.symbols) == bool(first.symbols)
        return sliced and 0 not in op.extents and part_of(op) == part_of(first)
    nests, task = ops_of(op, GenericOp), ops_of(first, GenericOp)
    return bool(nests) and part_of(nests[0]) == part_of(task[0])
