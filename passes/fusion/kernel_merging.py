"""Joining `loop.kernel`s that do not need each other; shared by the passes that merge kernels.

A `KernelGraph` knows what each kernel of a function needs, transitively. Merges are only noted;
`finish` carries them out and puts the function's ops in an order in which all is made before it is
read.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from lamina.dialects.loop import GenericOp, KernelOp, ReturnOp
from lamina.dialects.loop.kernel_nests import summed_rows
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.pairs import copies_in_pairs
from lamina.passes.fusion.fusion_reasons import add_reasons, numbers_of, take_reasons


@dataclass(eq=False)
class Cluster:
    """Ops that become one kernel, or one op that is none; sets of clusters are bit sets."""

    ops: list[Operation]
    bits: int
    needs: int = 0
    """The clusters that must run before this one."""
    refusals: list[tuple[KernelOp, str]] = field(default_factory=list)
    """Kernels with which it was not joined, and why."""

    @property
    def kernels(self) -> list[KernelOp]:
        """The kernels in it, in program order."""
        return [op for op in self.ops if isinstance(op, KernelOp)]

    @property
    def nests(self) -> list[GenericOp]:
        """The loop nests of its kernels."""
        return [op for k in self.kernels for op in k.block.ops if isinstance(op, GenericOp)]


class KernelGraph:
    """The top-level ops of a function as clusters, each with what it needs."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.cluster_of: dict[Operation, Cluster] = {}
        self.clusters: list[Cluster] = []
        self.changed = False
        self.numbers = {op: n[0] for op in block.ops if (n := numbers_of(op))}
        for number, op in enumerate(block.ops):
            cluster = Cluster([op], 1 << number)
            for operand in op.operands:
                if isinstance(owner := operand.owner, Operation):
                    made = self.cluster_of[owner]
                    cluster.needs |= made.needs | made.bits
            self.cluster_of[op] = cluster
            self.clusters.append(cluster)

    def independent(self, one: Cluster, other: Cluster) -> bool:
        """Whether neither needs what the other makes."""
        return not (one.needs & other.bits or other.needs & one.bits)

    def adjacent(self, one: Cluster, other: Cluster) -> bool:
        """Whether no third cluster needs one of them and is needed by the other."""
        both = one.bits | other.bits
        between = (one.needs | other.needs) & ~both
        return not any(c.bits & between and c.needs & both for c in self.clusters)

    def merge(self, one: Cluster, other: Cluster) -> None:
        """Note that both become one kernel; they must be `adjacent`."""
        both = one.bits | other.bits
        needs = (one.needs | other.needs) & ~both
        one.ops = sorted((*one.ops, *other.ops), key=lambda op: self._place(op))
        one.bits, one.needs = both, needs
        one.refusals += other.refusals
        for op in other.ops:
            self.cluster_of[op] = one
        self.clusters.remove(other)
        for cluster in self.clusters:
            if cluster.needs & both:
                cluster.needs |= both | needs
        self.changed = True

    def _place(self, op: Operation) -> int:
        if not hasattr(self, "_places"):
            self._places = {op: i for i, op in enumerate(self.block.ops)}
        return self._places[op]

    def finish(self) -> None:
        """Carry the merges out, and say on each kernel why it was not joined with another."""
        for cluster in self.clusters:
            reasons = [
                (self.numbers.get(op, -1), why)
                for op, why in cluster.refusals
                if self.cluster_of[op] is not cluster
            ]
            kernel = cluster.ops[-1]
            if len(cluster.ops) > 1:
                kernel = _form(self.block, cluster)
            if reasons:
                add_reasons(kernel, reasons)
        if self.changed:
            sort_block(self.block)


def is_fixed(kernel: KernelOp) -> bool:
    """Whether the kernel's schedule takes no other nests in.

    So it is of products and copies for them in pairs, of scatters, scans and sorts, and of kernels
    that sum over their rows.
    """
    return any(
        not isinstance(op, GenericOp)
        or is_packed(op)
        or 0 in op.extents
        or summed_rows(op)
        or copies_in_pairs(op)
        for op in list(kernel.block.ops)[:-1]
    )


def _form(block: Block, cluster: Cluster) -> KernelOp:
    """One kernel with the bodies of all, at the place of the last; the others are erased."""
    kernels = cluster.kernels
    last = kernels[-1]
    inner: dict[SSAValue, SSAValue] = {}
    inputs: dict[SSAValue, BlockArgument] = {}
    body = Block()
    for kernel in kernels:
        for value, argument in zip(kernel.inputs, kernel.block.args, strict=True):
            if value not in inner and value not in inputs:
                inputs[value] = body.insert_arg(value.type, len(body.args))
                inputs[value].name_hint = argument.name_hint
            argument.replace_all_uses_with(inner.get(value) or inputs[value])
        end = kernel.block.last_op
        assert isinstance(end, ReturnOp)
        inner.update(zip(kernel.res, list(end.values), strict=True))
        kernel.block.erase_op(end)
        for op in list(kernel.block.ops):
            op.detach()
            body.add_op(op)
    members = set(kernels)
    results = [r for k in kernels for r in k.res if _read_outside(r, members)]
    body.add_op(ReturnOp([inner[r] for r in results]))
    new = KernelOp(list(inputs), [r.type for r in results], Region(body))
    new.location = last.location
    take_reasons(new, kernels)
    block.insert_op_before(new, last)
    for old, result in zip(results, new.res, strict=True):
        result.name_hint = old.name_hint
        old.replace_uses_with_if(result, lambda use: use.operation not in members)
    for kernel in reversed(kernels):
        block.erase_op(kernel)
    return new


def _read_outside(result: SSAValue, members: set[KernelOp]) -> bool:
    return any(use.operation not in members for use in result.uses)


def sort_block(block: Block) -> None:
    """Put the ops of a block in dependence order, otherwise in the order in which they stand."""
    ops = list(block.ops)
    place = {op: i for i, op in enumerate(ops)}
    waiting: dict[Operation, int] = {}
    users: dict[Operation, list[Operation]] = {op: [] for op in ops}
    for op in ops:
        needed = {o.owner for o in op.operands if o.owner in place}
        waiting[op] = len(needed)
        for producer in needed:
            assert isinstance(producer, Operation)
            users[producer].append(op)
    ready = [place[op] for op in ops[:-1] if not waiting[op]]
    heapq.heapify(ready)
    while ready:
        op = ops[heapq.heappop(ready)]
        op.detach()
        block.insert_op_before(op, ops[-1])
        for user in users[op]:
            waiting[user] -= 1
            if not waiting[user] and user is not ops[-1]:
                heapq.heappush(ready, place[user])
