"""`merge-small-kernels`: kernels too short for several threads become few, whatever their shapes.

The steps between large kernels, such as the joins of partial sums, and the updates of many small
tensors, each run on one thread for less time than it takes to hand over to another. Together they
are one call, and need no place in memory for what they hand on. Nothing runs in parallel less than
before: a merged kernel is no longer than what one thread does anyway.
"""

from __future__ import annotations

from xdsl.dialects import func

from lamina.codegen.roofline import Roofline
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp
from lamina.dialects.loop.kernel_nests import rows_of, set_rows
from lamina.dialects.loop.labels import label_of
from lamina.passes.cost.fusion_limits import LOOK_BACK, MAX_NESTS
from lamina.passes.cost.kernel_model import estimate_small, seconds, serial_seconds
from lamina.passes.cost.scratch_budget import MAX_ROW_BYTES
from lamina.passes.fusion.demanded_elements import is_count
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, overridden
from lamina.passes.fusion.fusion_override import override
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.kernel_merging import Cluster, KernelGraph, is_fixed
from lamina.passes.fusion.merge_siblings import handed_bytes, scratch_bytes


class MergeSmallKernelsPass(FusionPassBase):
    """Merge short kernels with others that run next to them.

    How long they take is estimated (see `lamina.passes.cost.kernel_model`).
    A refused pair is named in the `lamina.not_fused` attribute of the later kernel.
    """

    name = "merge-small-kernels"

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        small = [
            kernel
            for kernel in function.body.block.ops
            if isinstance(kernel, KernelOp) and not is_fixed(kernel) and _is_small(kernel, machine)
        ]
        if len(small) < 2:
            return
        graph = KernelGraph.of(function.body.block)
        open_clusters: list[Cluster] = []
        for kernel in small:
            cluster = graph.cluster_of[kernel]
            for earlier in reversed(open_clusters[-LOOK_BACK:]):
                if not graph.adjacent(earlier, cluster):
                    continue
                said = _said(earlier, cluster, machine)
                names = f"{label_of(earlier.nests[-1])}, {label_of(cluster.nests[-1])}"
                log.kernels(names, said)
                if graph.settle(earlier, cluster, names, said):
                    for nest in earlier.nests:
                        set_rows(nest, ())
                    break
            else:
                open_clusters.append(cluster)
        graph.finish()


def _is_small(kernel: KernelOp, machine: Roofline) -> bool:
    """Whether one thread does the kernel alone, or the program wants it merged."""
    nests = [nest for nest in block_ops(kernel.block) if isinstance(nest, GenericOp)]
    marked = any(override(nest) == "always" for nest in nests)
    return marked or seconds(nests, machine) < serial_seconds(machine)


def _said(one: Cluster, other: Cluster, machine: Roofline) -> Decision:
    nests = (*one.nests, *other.nests)
    marked = overridden(nests)
    if marked is not None and not marked.fuse:
        return marked
    if len(nests) > MAX_NESTS:
        return Decision(False, f"together they have {len(nests)} nests, more than {MAX_NESTS}")
    if len({all(map(is_count, nest.res)) for nest in nests}) > 1:
        return Decision(False, "one of them makes sizes alone, at which rows of the other may end")
    if any(len(c.nests) > 1 and rows_of(c.nests[0]) for c in (one, other)):
        return Decision(False, "one of them runs row by row")
    scratch = sum(map(scratch_bytes, nests)) + handed_bytes(one, other)
    if scratch > MAX_ROW_BYTES:
        return Decision(False, f"together they take {scratch} bytes of scratch")
    if marked is not None:
        return marked
    thought = estimate_small(one.nests, other.nests, machine)
    if thought.pays:
        return Decision(True, "one thread runs both", thought)
    why = thought.compare("running both on one thread", "a call of its own")
    return Decision(False, f"several threads pay: {why}", thought)
