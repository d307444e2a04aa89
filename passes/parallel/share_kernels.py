"""`share-kernels`: which kernels the threads of a team run together, noted on each.

A kernel is shared if threads save more of it than a barrier takes, and if all that it does outside
of its parallel loops may be left to one thread. Its serial steps go to that thread (`loop.single`),
with barriers where order matters. `lamina.shared` says so. Of a loop with many iterations a thread
takes some at a time (`lamina.chunk`, which a text may say itself): one that is done with its own
goes on with what others have not begun. Whether a team calls the kernel is a matter of the program
(`merge-parallel-regions`), on which the code of the kernel does not depend.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.team import CHUNK, SHARED
from lamina.dialects.records import record
from lamina.passes.cost.team_cost import NANOSECONDS, iterations_at_a_time, sharing_pays
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.memory.index_ranges import IndexRanges
from lamina.passes.parallel.team_steps import share_out

UNBOUNDED = 1 << 40
"""Iterations of a loop of which no range says how many there are at most."""


@record
class ShareKernelsPass(KernelPass):
    """Note the kernels that a team shares. What a barrier costs is `target`'s (a name that
    `Target.parse` knows); kernels whose time nobody noted are shared where they can be."""

    name = "share-kernels"

    target: str = "host"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        if SHARED in kernel.attributes:
            return
        estimate = kernel.attributes.get(NANOSECONDS)
        target = Target.parse(self.target)
        pays = not isinstance(estimate, IntegerAttr) or sharing_pays(estimate.value.data, target)
        if kernel.body.blocks and pays and share_out(kernel.body.block):
            kernel.attributes[SHARED] = UnitAttr()
            if isinstance(estimate, IntegerAttr):
                _note_chunks(kernel, estimate.value.data, target)


def _note_chunks(kernel: func.FuncOp, nanoseconds: int, target: Target) -> None:
    """Say how many iterations a thread takes at a time of loops whose number of them is bounded.

    Where they end at numbers of the call, the time is that of as many as there can be.
    """
    ops = block_ops(kernel.body.block)
    loops = [op for op in ops if type(op) is scf.ParallelOp]
    bounds = [value for loop in loops for value in loop.operands]
    ranges = IndexRanges()
    for op in ops if any(constant_integer(value) is None for value in bounds) else ():
        ranges.note(op)
    for loop in loops:
        count = _most_rounds(loop, ranges)
        chunk = iterations_at_a_time(count, nanoseconds // len(loops), target)
        if chunk is not None and count < UNBOUNDED:
            loop.attributes.setdefault(CHUNK, IntegerAttr(chunk, i64))


def _most_rounds(loop: scf.ParallelOp, ranges: IndexRanges) -> int:
    """How often a loop of one index goes round at most."""
    lower, upper, step = (
        (number, number) if (number := constant_integer(value)) is not None else ranges.of(value)
        for value in (loop.lowerBound[0], loop.upperBound[0], loop.step[0])
    )
    return max(0, -((lower[0] - upper[1]) // max(1, step[0])))
