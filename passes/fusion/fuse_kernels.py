"""`fuse-kernels`: loop nests that can run row by row together become one `loop.kernel`.

A kernel has row dimensions: outer parallel dimensions that all its nests share, such that what one
nest makes for a row is read by the others for the same row only. Softmax, layer norm, a matrix
product with its epilogue, and attention each become one kernel; what stays between its nests is
scratch of a few rows. Of several kernels that make what a nest reads, it joins the one that hands
it the most bytes, if it can, and takes others with products in where all panels stay near
(`several_makers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.codegen.roofline import Roofline
from lamina.dialects.control import RegionOp
from lamina.dialects.loop import (
    UNSTRUCTURED_OPS,
    ExternOp,
    GenericOp,
    ReshapeOp,
    before_reshapes,
)
from lamina.dialects.loop.contraction import is_product
from lamina.dialects.loop.kernel_nests import set_rows
from lamina.dialects.loop.labels import label_of
from lamina.dialects.loop.least_extents import LEAST_EXTENTS
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, Refusal
from lamina.passes.fusion.fusion_override import check_overrides
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.fusion_reasons import Reason, add_reasons, set_numbers
from lamina.passes.fusion.fusion_rules import align_rows, initial_rows
from lamina.passes.fusion.kernel_merging import Cluster, KernelGraph, form_kernel, sort_block
from lamina.passes.fusion.several_makers import shared_rows
from lamina.passes.fusion.size_nests import SIZES_APART, are_apart
from lamina.passes.loop.packing import copy_nest
from lamina.passes.refusal import unsupported

WHOLE_OPS = (ExternOp, RegionOp)
"""Ops that are in no kernel: nothing moves into them or past what they need."""


class FuseKernelsPass(FusionPassBase):
    """Group loop nests into kernels by their common rows; record why a pair stayed apart.

    A refused pair is named in the `lamina.not_fused` attribute of the reading kernel.
    What a model decides is in `lamina.passes.cost.kernel_model`. It asks what calls of few rows
    cost by `lamina.least_extents`, which is used up.
    """

    name = "fuse-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_overrides(op)
        super().apply(ctx, op)

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        materialize_returns(function)
        _Grouping(function, log, machine).run()


def materialize_returns(function: func.FuncOp) -> None:
    """Make every returned value the result of its own nest: copy arguments and repeated values."""
    block = function.body.block
    terminator = block.last_op
    if terminator is None:
        return
    seen: set[SSAValue] = set()
    for index, value in enumerate(terminator.operands):
        root = before_reshapes(value)
        if isinstance(root, BlockArgument) or root in seen:
            copies = _copy(terminator, value)
            block.insert_ops_before(copies, terminator)
            terminator.operands[index] = copies[-1].results[0]
            root = before_reshapes(copies[-1].results[0])
        seen.add(root)


def _copy(user: Operation, value: SSAValue) -> list[Operation]:
    """Ops that copy a tensor for an op, the last of which gives the copy."""
    if not isinstance(value.type, TensorType) or not value.type.has_static_shape():
        raise unsupported(user, f"gives back {value.type}", "tensors of static shape")
    shape, element = value.type.get_shape(), value.type.element_type
    if isinstance(element, ComplexType):
        pairs = TensorType(element.element_type, [*shape, 2])
        parts = ReshapeOp(value, pairs)
        made = _copy(user, parts.result)
        return [parts, *made, ReshapeOp(made[-1].results[0], value.type)]
    return [copy_nest(user, "copy", value, AffineMap.identity(len(shape)), shape)]


class _Grouping:
    """One function's kernels: clusters grown in program order, which have numbers in that order."""

    def __init__(self, function: func.FuncOp, log: DecisionLog, machine: Roofline) -> None:
        self.log = log
        self.machine = machine
        self.block = function.body.block
        self.graph = KernelGraph()
        self.rows: dict[GenericOp, tuple[int, ...]] = {}
        """The dimensions of a nest that are rows of its kernel, outermost first."""
        self.refusals: dict[Cluster, list[Reason]] = {}
        self.numbers: dict[Cluster, int] = {}

    def run(self) -> None:
        for op in self.block.ops:
            own = self.graph.add(op)
            if isinstance(op, GenericOp):
                self._place(op, own)
            elif isinstance(op, (*UNSTRUCTURED_OPS, *WHOLE_OPS)):
                self.numbers[own] = len(self.numbers)
        self._emit()

    def _place(self, op: GenericOp, own: Cluster) -> None:
        direct: dict[Cluster, int] = {}
        for value in dict.fromkeys((*op.inputs, *op.sources)):
            if isinstance(value.owner, GenericOp):
                cluster = self.graph.cluster_of[value.owner]
                direct[cluster] = direct.get(cluster, 0) + value_bytes(value)
        refusals: list[Reason] = []
        for cluster in sorted(direct, key=lambda c: (-direct[c], -self.numbers[c])):
            joined = self._joined(cluster, op, own)
            self._tell(cluster, op, joined)
            if not isinstance(joined, Refusal):
                kept, self.rows[op] = joined
                for member in self._members(cluster):
                    self.rows[member] = tuple(self.rows[member][i] for i in kept)
                self.graph.merge(cluster, own)
                self._join_makers(cluster, direct, op, refusals)
                self.refusals[cluster] += refusals
                return
            said = f"{label_of(cluster.ops[-1])} -> {label_of(op)}: {joined.reason}"
            refusals.append((self.numbers[cluster], said))
        self.rows[op] = initial_rows(op)
        self.refusals[own], self.numbers[own] = refusals, len(self.numbers)

    def _join_makers(
        self,
        cluster: Cluster,
        direct: Mapping[Cluster, int],
        op: GenericOp,
        refusals: list[Reason],
    ) -> None:
        """Take into the kernel of `op` what makes its other operands, where both have products;
        others are left to `merge-siblings`. `refusals` says why kernels stayed apart."""
        for other in sorted(direct, key=lambda c: self.numbers[c]):
            members, others = self._members(cluster), self._members(other)
            if other is cluster or not self.graph.adjacent(cluster, other):
                continue
            if not any(map(is_product, members)) or not any(map(is_product, others)):
                continue
            kept = shared_rows(members, others, self.rows, op, self.machine)
            self._tell(other, op, kept)
            if isinstance(kept, Refusal):
                said = f"{label_of(other.ops[-1])} -> {label_of(op)}: {kept.reason}"
                tried = {number for number, _ in refusals}
                refusals += (
                    [(self.numbers[other], said)] if self.numbers[other] not in tried else []
                )
                continue
            for member in (*members, *others):
                self.rows[member] = self.rows[member][:kept]
            number = self.numbers.pop(other)
            refusals[:] = [reason for reason in refusals if reason[0] != number]
            self.numbers[cluster] = min(number, self.numbers[cluster])
            self.refusals[cluster] += self.refusals.pop(other)
            self.graph.merge(cluster, other)

    @staticmethod
    def _members(cluster: Cluster) -> list[GenericOp]:
        return [op for op in cluster.ops if isinstance(op, GenericOp)]

    def _tell(self, cluster: Cluster, op: GenericOp, joined: object) -> None:
        for value in (*op.inputs, *op.sources):
            producer = value.owner
            if isinstance(producer, GenericOp) and self.graph.cluster_of[producer] is cluster:
                kept = Decision(True, "rows stay in the kernel")
                said = joined if isinstance(joined, Refusal) else kept
                self.log.pair(producer, op, value, said)

    def _joined(
        self, cluster: Cluster, op: GenericOp, own: Cluster
    ) -> tuple[list[int], tuple[int, ...]] | Refusal:
        """Which rows of the kernel survive if `op` joins it, and which dims of `op` they are."""
        members = self._members(cluster)
        if are_apart(members, [op]):
            return SIZES_APART
        reshaped = [before_reshapes(v).owner for v in op.operands if type(v.owner) is ReshapeOp]
        if any(maker in members for maker in reshaped):
            return Refusal("a reshape between them has no linear index map")
        if not self.graph.adjacent(cluster, own):
            return Refusal("another operand is made after this kernel, from its results")
        rows = {member: self.rows[member] for member in members}
        return align_rows(members, rows, op, self.machine)

    def _emit(self) -> None:
        """Kernels stand at the place of their last op, and then behind what they need."""
        for cluster, number in self.numbers.items():
            if isinstance(cluster.ops[0], WHOLE_OPS):
                continue
            for nest in self._members(cluster):
                set_rows(nest, self.rows[nest])
                nest.attributes.pop(LEAST_EXTENTS, None)
            kernel = form_kernel(cluster.ops)
            set_numbers(kernel, [number])
            add_reasons(kernel, self.refusals.get(cluster, ()))
        sort_block(self.block)


__all__ = ["FuseKernelsPass", "materialize_returns"]
