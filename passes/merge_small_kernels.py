"""`merge-small-kernels`: kernels too short for several threads become few, whatever their shapes.

The steps between large kernels, such as the joins of partial sums, and the updates of many small
tensors, each run on one thread for less time than it takes to hand over to another. Together they
are one call, and need no place in memory for what they hand on. Nothing runs in parallel less than
before: a merged kernel is no longer than what one thread does anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, KernelOp
from lamina.passes.fusion_cost import work
from lamina.passes.fusion_decisions import Decision, DecisionLog, op_label
from lamina.passes.fusion_override import override
from lamina.passes.kernel_merging import Cluster, KernelGraph, is_fixed, rows_of, set_rows

SERIAL_COST = 1 << 14
"""Cost units (see `fusion_cost`) that one thread does alone; schedules fork above."""
MAX_NESTS = 32
"""Nests of a merged kernel: equal kernels are compiled once, and nests of one kernel each."""
LOOK_BACK = 4
"""Small kernels before it that a kernel is tried with."""


@dataclass(frozen=True)
class MergeSmallKernelsPass(ModulePass):
    """Merge short kernels with others that run next to them.

    `print_decisions` tells of each pair on stderr what was decided and why.
    """

    name = "merge-small-kernels"

    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        log = DecisionLog(self.name, self.print_decisions)
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _merge(function, log)


def _merge(function: func.FuncOp, log: DecisionLog) -> None:
    small = [
        kernel
        for kernel in function.body.block.ops
        if isinstance(kernel, KernelOp) and not is_fixed(kernel) and _cost(kernel) < SERIAL_COST
    ]
    if len(small) < 2:
        return
    graph = KernelGraph(function.body.block)
    open_clusters: list[Cluster] = []
    for kernel in small:
        cluster = graph.cluster_of[kernel]
        for earlier in reversed(open_clusters[-LOOK_BACK:]):
            if not graph.adjacent(earlier, cluster):
                continue
            said = _said(earlier, cluster)
            log.neighbours(earlier.nests[-1], cluster.nests[-1], said)
            if said.fuse:
                _drop_rows(earlier, cluster)
                graph.merge(earlier, cluster)
                break
            names = f"{op_label(earlier.nests[-1])}, {op_label(cluster.nests[-1])}"
            cluster.refusals.append((earlier.kernels[0], f"{names}: {said.reason}"))
        else:
            open_clusters.append(cluster)
    graph.finish()


def _cost(kernel: KernelOp) -> int:
    return sum(work(nest) for nest in kernel.block.ops if isinstance(nest, GenericOp))


def _said(one: Cluster, other: Cluster) -> Decision:
    nests = (*one.nests, *other.nests)
    if any(override(nest) == "never" for nest in nests):
        return Decision(False, 'lamina.fuse = "never"')
    if len(nests) > MAX_NESTS:
        return Decision(False, f"together they have {len(nests)} nests, more than {MAX_NESTS}")
    total = sum(map(work, nests))
    if total >= SERIAL_COST:
        return Decision(False, f"together they cost {total}, and would run on several threads")
    if any(len(c.nests) > 1 and rows_of(c.nests[0]) for c in (one, other)):
        return Decision(False, "one of them runs row by row")
    return Decision(True, "one thread runs both")


def _drop_rows(one: Cluster, other: Cluster) -> None:
    for nest in (*one.nests, *other.nests):
        set_rows(nest, ())
