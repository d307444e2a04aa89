"""`fuse-column-sums`: sums over the rows of a kernel are made in it, beside what it does with them.

The gradient of a layer norm takes two walks over the same rows: one for the gradient of its input,
one for those of its weight and bias, which are sums of columns. In one kernel, a task walks its
rows once and keeps the column sums of all of them; tasks that share columns leave partial sums, and
the kernel's last nests join those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import prod

from xdsl.dialects import func
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from lamina.codegen.roofline import Roofline
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp, ReturnOp
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import part_of, rows_of, set_rows
from lamina.dialects.loop.labels import label_of
from lamina.dialects.records import mutable_record
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.fusion_limits import MIN_PARALLEL_ROWS, SERIAL_WORK
from lamina.passes.cost.fusion_limits import SUM_TASKS as TASKS
from lamina.passes.cost.fusion_model import estimate_column_sums
from lamina.passes.cost.kernel_model import PRODUCT_ROWS
from lamina.passes.cost.scratch_budget import MAX_ROW_BYTES
from lamina.passes.fusion.column_plans import ColumnPlan, column_plan, lone_reduction, parts_of
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, Refusal, overridden
from lamina.passes.fusion.fusion_override import override
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.kernel_merging import Cluster, KernelGraph, is_fixed, nests_of
from lamina.passes.fusion.merge_siblings import is_turned, scratch_bytes
from lamina.passes.fusion.position_masks import is_masked
from lamina.passes.fusion.row_sums import begin_part, sum_over_rows
from lamina.passes.loop.split_dim import is_divisible, split_dim


class FuseColumnSumsPass(FusionPassBase):
    """Make column sums in the kernels whose rows they sum over, where the model says it pays.

    Bytes are weighed (see `lamina.passes.cost.fusion_model`). A refused pair is named in the
    `lamina.not_fused` attribute of the summing kernel.
    """

    name = "fuse-column-sums"

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        _Fusing(function.body.block, machine, log).run()


@mutable_record
class _Walk:
    """A kernel and the nests that sum over its rows, with what they agreed on."""

    kernels: list[KernelOp]
    plan: ColumnPlan | None = None
    parts: int = 1
    sums: list[tuple[GenericOp, ColumnPlan]] = field(default_factory=list)
    finishing: list[list[GenericOp]] = field(default_factory=list)
    """Nests of kernels that only go on with the sums: each runs as a last part of the kernel."""
    late: int = 0
    """Bits of what is done when all rows have been walked: the rows cannot need it."""

    @property
    def nests(self) -> list[GenericOp]:
        """The nests that walk the rows."""
        return nests_of(self.kernels)


class _Fusing:
    """The kernels of one block, and which of them sum beside which."""

    def __init__(self, block: Block, machine: Roofline, log: DecisionLog) -> None:
        self.block = block
        self.machine = machine
        self.log = log
        self.graph = KernelGraph.of(block)
        self.walks: dict[Cluster, _Walk] = {}
        self.kernels = [op for op in block_ops(block) if isinstance(op, KernelOp)]
        self.fixed = set(filter(is_fixed, self.kernels))
        """Asked once for each: every sum looks at all kernels, which change at the end only."""

    def run(self) -> None:
        """Find the pairs, join their kernels, and rewrite the sums."""
        for kernel in self.kernels:
            nest = None if kernel in self.fixed else lone_reduction(kernel)
            if nest is not None and self.graph.cluster_of[kernel] not in self.walks:
                self._place(kernel, nest)
        walks = [(w, w.nests) for w in self.walks.values()]
        for cluster, walk in self.walks.items():
            for kernel in self.kernels:
                if self._finishes(cluster, walk, kernel):
                    walk.finishing.append(self.graph.cluster_of[kernel].nests)
                    self.graph.merge(cluster, self.graph.cluster_of[kernel])
        self.graph.finish()
        for walk, nests in walks:
            _rewrite(walk, nests)

    def _place(self, kernel: KernelOp, nest: GenericOp) -> None:
        """Let the first kernel that can take the sums make them."""
        cluster = self.graph.cluster_of[kernel]
        for other in list(self.graph.clusters):
            if other is cluster or not other.kernels or not self.fixed.isdisjoint(other.kernels):
                continue
            walk = self.walks.get(other) or _Walk(other.kernels)
            plan = column_plan(walk.kernels, kernel, nest)
            if plan is None or other.needs & cluster.bits or cluster.needs & walk.late:
                continue
            said = self._said(walk, other, cluster, nest, plan)
            names = f"{label_of(walk.nests[-1])} | {label_of(nest)}"
            self.log.kernels(names, said, max(kernel.inputs, key=value_bytes))
            rest = cluster.nests[1:]
            if not self.graph.settle(other, cluster, names, said):
                continue
            assert isinstance(plan, ColumnPlan)
            walk.sums.append((nest, plan))
            walk.finishing += [rest] if rest else []
            walk.plan = plan
            walk.parts = _parts(walk.nests, nest, plan)
            walk.late |= cluster.bits
            self.walks[other] = walk
            return

    def _finishes(self, cluster: Cluster, walk: _Walk, kernel: KernelOp) -> bool:
        """Whether a kernel only goes on with the sums of another, as their rounding does."""
        own = self.graph.cluster_of[kernel]
        if own is cluster or own in self.walks or len(own.ops) > 1 or kernel in self.fixed:
            return False
        made = {r for nest, _ in walk.sums for r in _results(nest)}
        if not kernel.inputs or not made.issuperset(kernel.inputs):
            return False  # what reads nothing may be read by the rows
        if not self.graph.adjacent(cluster, own):
            return False
        return all(n.is_pointwise and override(n) != "never" for n in own.nests)

    def _said(
        self,
        walk: _Walk,
        one: Cluster,
        other: Cluster,
        nest: GenericOp,
        plan: ColumnPlan | Refusal,
    ) -> Decision:
        if isinstance(plan, Refusal):
            return plan
        if not self.graph.adjacent(one, other):
            return Refusal("a third kernel runs between them")
        if (refusal := _refusal(walk, nest, plan)) is not None:
            return refusal
        thought = estimate_column_sums(
            walk.kernels, other.kernels[0], nest, plan.dims, self.machine
        )
        if (said := overridden((*walk.nests, nest))) is not None:
            return replace(said, estimate=thought)
        return Decision(
            thought.pays, thought.compare("keeping the sums", "reading it again"), thought
        )


def _extents(nest: GenericOp, plan: ColumnPlan) -> list[int]:
    return [nest.extents[d] for d in plan.dims]


def _parts(nests: Sequence[GenericOp], nest: GenericOp, plan: ColumnPlan) -> int:
    points = sum(prod(n.extents) for n in (*nests, nest))
    return parts_of(_extents(nest, plan), plan, points, SERIAL_WORK)


def _refusal(walk: _Walk, nest: GenericOp, plan: ColumnPlan) -> Refusal | None:
    """Why the sums cannot be made, or had better not be made, in one kernel with the rows."""
    if walk.plan is not None and walk.plan.summed != plan.summed:
        return Refusal("the kernel makes sums over other rows already")
    nests = walk.nests
    if not all(map(is_divisible, (*nests, nest))):
        return Refusal("an index map is not linear")
    if is_turned(nests):
        return Refusal("one of them reads along another dimension than it writes")
    parts = _parts(nests, nest, plan)
    if walk.plan is not None and walk.parts != parts:
        return Refusal(f"the kernel makes its sums in {walk.parts} parts")
    extents = _extents(nest, plan)
    tasks = parts * prod(e for e, s in zip(extents, plan.summed, strict=True) if not s)
    points = sum(prod(n.extents) for n in (*nests, nest))
    if tasks < MIN_PARALLEL_ROWS and points > SERIAL_WORK:
        return Refusal(f"its {prod(extents)} rows make only {tasks} equal tasks of the {TASKS}")
    if parts > 1 and _has_few_rows(nest) and _ends_in_a_part(nests, nest, plan):
        return Refusal(f"a call may need the rows of the first of {parts} parts alone")
    row = sum(map(scratch_bytes, nests)) // prod(extents)
    if row > MAX_ROW_BYTES:
        return Refusal(f"a row takes {row} bytes of scratch, more than {MAX_ROW_BYTES}")
    return None


def _has_few_rows(nest: GenericOp) -> bool:
    """Whether a nest is a product of so few rows that it has no register tiles, as of queries of a
    decoder's step."""
    shape = Contraction.of(nest)
    return shape is not None and shape.size(shape.rows) < PRODUCT_ROWS


def _ends_in_a_part(nests: Sequence[GenericOp], nest: GenericOp, plan: ColumnPlan) -> bool:
    """Whether a size of the call says how many of the rows that are divided count: products in
    parts do not end there, as they do by themselves (`lamina.cut`)."""
    place = plan.summed.index(True)
    walked = [(n, rows_of(n)[place]) for n in nests]
    return any(is_masked(n, dim) for n, dim in (*walked, (nest, plan.dims[place])))


def _results(nest: GenericOp) -> list[SSAValue]:
    """The results of a nest as its kernel gives them."""
    kernel = nest.parent_op()
    assert isinstance(kernel, KernelOp)
    return [r for r, v in zip(kernel.res, kernel.returned, strict=True) if v.owner is nest]


# Rewriting


def _rewrite(walk: _Walk, nests: Sequence[GenericOp]) -> None:
    """Give the nests of a joined kernel their rows, and the sums their parts."""
    plan = walk.plan
    if plan is None:
        return
    order = sorted(range(len(plan.dims)), key=lambda place: plan.summed[place])
    for nest in nests:
        rows = rows_of(nest)
        _with_rows(nest, [rows[place] for place in order], plan, walk.parts)
    kernel = walk.sums[0][0].parent_op()
    assert isinstance(kernel, KernelOp)
    for nest, own in walk.sums:
        dims = [own.dims[place] for place in order]
        sum_over_rows(_with_rows(nest, dims, own, walk.parts), walk.parts)
    for finishing in walk.finishing:
        begin_part(finishing)
    _return_shared(kernel)


def _with_rows(nest: GenericOp, rows: Sequence[int], plan: ColumnPlan, parts: int) -> GenericOp:
    """The nest with these rows, the first summed one of them divided into `parts`."""
    if parts > 1:
        dim = rows[plan.summed.count(False)]
        nest = split_dim(nest, dim, [parts, nest.extents[dim] // parts])
        # The parts stand in front of what was divided.
        rows = [p for d in rows for p in ((d, d + 1) if d == dim else (d + (d > dim),))]
    set_rows(nest, rows)
    return nest


def _return_shared(kernel: KernelOp) -> None:
    """Make what goes from part to part results of the kernel: all threads share their memory."""
    returned = kernel.returned
    values = list(
        dict.fromkeys(
            value
            for nest in kernel.block.ops
            for value in nest.operands
            if isinstance(nest, GenericOp)
            and isinstance(maker := value.owner, Operation)
            and part_of(maker) != part_of(nest)
            and value not in returned
        )
    )
    if not values:
        return
    end = kernel.block.last_op
    assert end is not None
    Rewriter.replace_op(end, ReturnOp([*returned, *values]))
    old = list(kernel.res)
    types = [*(r.type for r in old), *(v.type for v in values)]
    new = KernelOp(list(kernel.inputs), types, kernel.detach_region(kernel.body))
    new.attributes.update(kernel.attributes)
    new.location = kernel.location
    kernel.add_region(Region(Block()))
    for before, after in zip(old, new.res, strict=False):
        after.name_hint = before.name_hint
    Rewriter.replace_op(kernel, new, list(new.res)[: len(old)])
