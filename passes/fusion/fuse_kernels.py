"""`fuse-kernels`: loop nests that can run row by row together become one `loop.kernel`.

A kernel has row dimensions: outer parallel dimensions that all its nests share, such that what one
nest makes for a row is read by the others for the same row only. Softmax, layer norm, a matrix
product with its epilogue, and attention each become one kernel; what stays between its nests is
scratch of a few rows. Of several kernels that make what a nest reads, it joins the one that hands
it the most bytes, if it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
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
from lamina.dialects.loop.kernel_nests import set_rows
from lamina.dialects.loop.labels import label_of
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.fusion.deciding_pass import DecidingPass
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, Refusal
from lamina.passes.fusion.fusion_override import check_overrides
from lamina.passes.fusion.fusion_reasons import Reason, add_reasons, set_numbers
from lamina.passes.fusion.fusion_rules import align_rows, initial_rows
from lamina.passes.fusion.kernel_merging import form_kernel, sort_block
from lamina.passes.loop.packing import copy_nest

WHOLE_OPS = (ExternOp, RegionOp)
"""Ops that are in no kernel: nothing moves into them or past what they need."""


@dataclass(eq=False)
class Group:
    """Nests that become one kernel; `rows` gives each nest's row dimensions, outermost first."""

    number: int
    ops: list[Operation]
    rows: dict[Operation, tuple[int, ...]]
    needs: int = 0
    """Bit set of the groups that must run before this one, transitively."""
    refusals: list[Reason] = field(default_factory=list)

    @property
    def bit(self) -> int:
        """The group's own bit in a set of groups."""
        return 1 << self.number


@dataclass(frozen=True)
class FuseKernelsPass(DecidingPass):
    """Group loop nests into kernels by their common rows; record why a pair stayed apart.

    A refused pair is named in the `lamina.not_fused` attribute of the reading kernel.
    What a model decides is in `lamina.passes.cost.kernel_model`.
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
    assert isinstance(value.type, TensorType)
    shape, element = value.type.get_shape(), value.type.element_type
    if isinstance(element, ComplexType):
        pairs = TensorType(element.element_type, [*shape, 2])
        parts = ReshapeOp(value, pairs)
        made = _copy(user, parts.result)
        return [parts, *made, ReshapeOp(made[-1].results[0], value.type)]
    return [copy_nest(user, "copy", value, AffineMap.identity(len(shape)), shape)]


class _Grouping:
    """One function's kernels: grown in program order, then emitted in dependence order."""

    def __init__(self, function: func.FuncOp, log: DecisionLog, machine: Roofline) -> None:
        self.log = log
        self.machine = machine
        self.block = function.body.block
        self.groups: list[Group] = []
        self.group_of: dict[Operation, Group] = {}

    def run(self) -> None:
        for op in self.block.ops:
            if isinstance(op, GenericOp):
                self._place(op)
            elif isinstance(op, (*UNSTRUCTURED_OPS, *WHOLE_OPS)):
                self._place_alone(op)
        self._emit()

    # Growing

    def _place(self, op: GenericOp) -> None:
        producers = self._producers(op)
        direct: dict[Group, int] = {}
        for value in dict.fromkeys((*op.inputs, *op.sources)):
            if isinstance(value.owner, GenericOp):
                group = self.group_of[value.owner]
                direct[group] = direct.get(group, 0) + value_bytes(value)
        refusals: list[Reason] = []
        for group in sorted(direct, key=lambda g: (-direct[g], -g.number)):
            joined = self._join(group, op, producers)
            self._tell(group, op, joined)
            if not isinstance(joined, Refusal):
                self._add(group, op, joined, producers)
                group.refusals += refusals
                return
            said = f"{label_of(group.ops[-1])} -> {label_of(op)}: {joined.reason}"
            refusals.append((group.number, said))
        group = Group(len(self.groups), [op], {op: initial_rows(op)}, refusals=refusals)
        group.needs = self._closure(producers)
        self.groups.append(group)
        self.group_of[op] = group

    def _tell(self, group: Group, op: GenericOp, joined: object) -> None:
        for value in (*op.inputs, *op.sources):
            producer = value.owner
            if isinstance(producer, GenericOp) and self.group_of[producer] is group:
                kept = Decision(True, "rows stay in the kernel")
                said = joined if isinstance(joined, Refusal) else kept
                self.log.pair(producer, op, value, said)

    def _place_alone(self, op: Operation) -> None:
        """A group that no nest joins: it only says what must run before what."""
        group = Group(len(self.groups), [op], {})
        group.needs = self._closure(self._producers(op))
        self.groups.append(group)
        self.group_of[op] = group

    def _producers(self, op: Operation) -> list[Group]:
        owners = [before_reshapes(v).owner for v in op.operands]
        return [self.group_of[o] for o in owners if not isinstance(o, Block) and o in self.group_of]

    @staticmethod
    def _closure(producers: list[Group]) -> int:
        needs = 0
        for group in producers:
            needs |= group.needs | group.bit
        return needs

    def _join(
        self, group: Group, op: GenericOp, producers: list[Group]
    ) -> tuple[list[int], tuple[int, ...]] | Refusal:
        for other in producers:
            if other is not group and other.needs & group.bit:
                return Refusal("another operand is made after this kernel, from its results")
        through_reshape = any(
            isinstance(v.owner, ReshapeOp) and self.group_of.get(before_reshapes(v).owner) is group  # pyright: ignore
            for v in op.operands
        )
        if through_reshape:
            return Refusal("a reshape between them has no linear index map")
        members: list[GenericOp] = group.ops  # pyright: ignore - nests, others stay alone
        return align_rows(members, group.rows, op, self.machine)  # pyright: ignore - the same

    def _add(
        self,
        group: Group,
        op: GenericOp,
        joined: tuple[list[int], tuple[int, ...]],
        producers: list[Group],
    ) -> None:
        kept, rows = joined
        for member, dims in group.rows.items():
            group.rows[member] = tuple(dims[i] for i in kept)
        group.rows[op] = rows
        group.ops.append(op)
        self.group_of[op] = group
        added = self._closure([p for p in producers if p is not group]) & ~group.needs
        if added:
            group.needs |= added
            for other in self.groups:
                if other.needs & group.bit:
                    other.needs |= group.needs

    # Emitting

    def _emit(self) -> None:
        """Groups stand at the place of their last op, and then behind what they need."""
        for group in self.groups:
            if isinstance(group.ops[0], WHOLE_OPS):
                continue
            for op, rows in group.rows.items():
                set_rows(op, rows)
            kernel = form_kernel(group.ops)
            set_numbers(kernel, [group.number])
            add_reasons(kernel, group.refusals)
        sort_block(self.block)


__all__ = ["FuseKernelsPass", "Group", "materialize_returns"]
