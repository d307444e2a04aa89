"""Joining `loop.kernel`s that do not need each other; shared by the passes that merge kernels.

A `KernelGraph` knows what each kernel of a function needs, transitively. Merges are only noted;
`finish` carries them out and puts the function's ops in an order in which all is made before it is
read.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, Region

from lamina.dialects.ir_links import append_op, block_ops, replace_uses
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, KernelOp, ReturnOp
from lamina.dialects.loop.kernel_nests import summed_rows
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.pairs import copies_in_pairs
from lamina.dialects.op_accessors import operands_of
from lamina.passes.fusion.fusion_decisions import Decision
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
        return nests_of(self.kernels)


def nests_of(kernels: Sequence[KernelOp]) -> list[GenericOp]:
    """The loop nests of some kernels."""
    return [op for kernel in kernels for op in block_ops(kernel.block) if isinstance(op, GenericOp)]


class KernelGraph:
    """The top-level ops of a function as clusters, each with what it needs."""

    def __init__(self) -> None:
        self.cluster_of: dict[Operation, Cluster] = {}
        self.clusters: list[Cluster] = []
        self._places: dict[Operation, int] = {}

    @staticmethod
    def of(block: Block) -> KernelGraph:
        """Of all ops of a block, each alone."""
        graph = KernelGraph()
        for op in block.ops:
            graph.add(op)
        return graph

    def add(self, op: Operation) -> Cluster:
        """A cluster of an op that stands behind all that are there."""
        self._places[op] = place = len(self._places)
        cluster = Cluster([op], 1 << place)
        for made in self.makers(op):
            cluster.needs |= made.needs | made.bits
        self.cluster_of[op] = cluster
        self.clusters.append(cluster)
        return cluster

    def makers(self, op: Operation) -> list[Cluster]:
        """The clusters that make what an op takes."""
        return [
            self.cluster_of[v.op]  # pyright: ignore[reportAttributeAccessIssue]
            for v in operands_of(op)
            if type(v) is not BlockArgument
        ]

    def adjacent(self, one: Cluster, other: Cluster) -> bool:
        """Whether no third cluster needs one of them and is needed by the other."""
        both = one.bits | other.bits
        makers = (maker for op in (*one.ops, *other.ops) for maker in self.makers(op))
        return not any(m.needs & both for m in makers if m is not one and m is not other)

    def settle(self, one: Cluster, other: Cluster, names: str, said: Decision) -> bool:
        """Merge `other` into `one`, or note on it by these names why not; whether it was merged."""
        if said.fuse:
            self.merge(one, other)
        else:
            other.refusals.append((one.kernels[0], f"{names}: {said.reason}"))
        return said.fuse

    def merge(self, one: Cluster, other: Cluster) -> None:
        """Note that both become one kernel; they must be `adjacent`."""
        both = one.bits | other.bits
        needs = (one.needs | other.needs) & ~both
        one.ops = sorted((*one.ops, *other.ops), key=lambda op: self._places[op])
        one.bits, one.needs = both, needs
        one.refusals += other.refusals
        for op in other.ops:
            self.cluster_of[op] = one
        self.clusters.remove(other)
        for cluster in self.clusters:
            if cluster.needs & both:
                cluster.needs |= both | needs

    def finish(self) -> None:
        """Carry the merges out, and say on each kernel why it was not joined with another."""
        numbers = {op: n[0] for op in self.cluster_of if (n := numbers_of(op))}
        merged: KernelOp | None = None
        for cluster in self.clusters:
            reasons = [
                (numbers.get(op, -1), why)
                for op, why in cluster.refusals
                if self.cluster_of[op] is not cluster
            ]
            kernel = cluster.ops[-1]
            if len(cluster.ops) > 1:
                kernel = merged = _merged(cluster)
            if reasons:
                add_reasons(kernel, reasons)
        if merged is not None and merged.parent is not None:
            sort_block(merged.parent)


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
        for op in block_ops(kernel.block)[:-1]
    )


def form_kernel(ops: Sequence[Operation]) -> KernelOp:
    """Put ops of a block into a kernel, which stands where the last of them stood.

    It takes what they read of others, and gives what others read of them; of an unstructured op all
    results, of which some are its working memory.
    """
    members, last = set(ops), ops[-1]
    inputs = dict.fromkeys(v for op in ops for v in op.operands if v.owner not in members)
    outputs = [
        result
        for op in ops
        for result in op.results
        if isinstance(op, UNSTRUCTURED_OPS) or any(u.operation not in members for u in result.uses)
    ]
    body = Block(arg_types=[value.type for value in inputs])
    kernel = KernelOp(list(inputs), [value.type for value in outputs], Region(body))
    kernel.location = last.location
    block = last.parent_block()
    assert block is not None
    block.insert_op_after(kernel, last)
    for old, new in zip(outputs, kernel.res, strict=True):
        new.name_hint = old.name_hint
        old.replace_uses_with_if(new, lambda use: use.operation not in members)
    for value, argument in zip(inputs, body.args, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: use.operation in members)
    for op in ops:
        op.detach()
        append_op(body, op)
    append_op(body, ReturnOp(outputs))
    return kernel


def _merged(cluster: Cluster) -> KernelOp:
    """One kernel with the bodies of all, at the place of the last; the others are erased."""
    kernels, ops = cluster.kernels, list[Operation]()
    block = kernels[-1].parent_block()
    assert block is not None
    for kernel in kernels:
        *inner, end = kernel.block.ops
        returned = list(kernel.returned)
        kernel.block.erase_op(end)
        for value, argument in zip(kernel.inputs, kernel.block.args, strict=True):
            replace_uses(argument, value)
        for op in inner:
            op.detach()
            block.insert_op_before(op, kernels[-1])
            ops.append(op)
        for result, value in zip(kernel.res, returned, strict=True):
            value.name_hint = result.name_hint
            replace_uses(result, value)
    for kernel in reversed(kernels):
        block.erase_op(kernel)
    new = form_kernel(ops)
    new.location = kernels[-1].location
    take_reasons(new, kernels)
    return new


def sort_block(block: Block) -> None:
    """Put the ops of a block in dependence order, otherwise in the order in which they stand."""
    ops = block_ops(block)
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
