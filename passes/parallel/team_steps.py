"""Kernels that a team runs together: parallel loops, and serial steps on one thread."""

from __future__ import annotations

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.ir import Block, Operation

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.team import BarrierOp, SingleOp
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.memory.memory_accesses import Access, conflict, root_of, touched

_WITHOUT_EFFECTS = (cf.AssertOp, arith.RemUIOp, arith.RemSIOp)
"""Ops that each thread may run, though xDSL does not say so: it does of quotients."""


def is_shared(block: Block) -> bool:
    """Whether a kernel's body, as it stands, may be run by every thread of a team."""
    steps = _steps(block)
    return steps is not None and all(len(s) == 1 and _keeps_apart(s[0]) for s in steps)


def _keeps_apart(step: Operation) -> bool:
    return _is_parallel(step) or type(step) is SingleOp


def share_out(block: Block) -> bool:
    """Make a kernel's body one that every thread of a team may run; False if that cannot be.

    It can if the kernel has parallel loops, keeps no memory of its own outside of them, and reads
    there only what it does not write. What else has effects goes to one thread, with barriers where
    order matters.
    """
    steps = _steps(block)
    if steps is None or not any(_is_parallel(op) for step in steps for op in step):
        return False
    pending: list[Access] = []
    for step in steps:
        found = touched(step) if len(steps) > 1 else {}
        accesses = [Access(root, 0, 1, writes) for root, writes in found.items()]
        if conflict(accesses, pending):
            block.insert_op_before(BarrierOp(), step[0])
            pending = []
        pending += accesses
        if not _keeps_apart(step[0]):
            single = SingleOp([])
            block.insert_op_after(single, step[-1])  # what it reads may stand between its ops
            for op in step:
                op.detach()
                single.body.block.add_op(op)
    return True


def _steps(block: Block) -> list[list[Operation]] | None:
    """The ops with effects: each parallel loop, and the serial ops between two of them together.

    None if a thread cannot run the other ops on its own.
    """
    # Classes are compared: `isinstance` is slow for those of ops, of which kernels have many.
    ops = [op for op in block_ops(block) if type(op) not in (func.ReturnOp, BarrierOp)]
    is_read = any(type(op) is memref.LoadOp for op in ops)
    written = {root for root, writes in touched(ops).items() if writes} if is_read else set()
    steps: list[list[Operation]] = []
    for op in ops:
        if type(op) in (memref.AllocaOp, memref.AllocOp):
            return None
        if type(op) is memref.LoadOp:
            if root_of(op.memref) in written:
                return None
        elif _keeps_apart(op):
            steps.append([op])
        elif not (is_free_of_effects(op) or type(op) in _WITHOUT_EFFECTS):
            if any(result.first_use for result in op.results):
                return None
            if steps and not _keeps_apart(steps[-1][0]):
                steps[-1].append(op)
            else:
                steps.append([op])
    return steps


def _is_parallel(op: Operation) -> bool:
    return type(op) is scf.ParallelOp and not op.initVals
