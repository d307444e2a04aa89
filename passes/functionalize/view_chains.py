"""View ops as steps from one tensor to another, and replaying a chain of them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp

RESHAPES = frozenset(
    [
        "reshape",
        "reshape_as",
        "flatten",
        "ravel",
        "unflatten",
        "view_as",
        "_reshape_alias",
        "contiguous",
    ]
)
"""Views of contiguous tensors; of others a view or a copy."""

CONVERSIONS = frozenset(["to", "type_as"])
"""The operand itself if there is nothing to convert, else a copy."""

EVALUATION_IDENTITIES = frozenset(
    ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"]
)
"""Give back their operand itself in evaluation, though the schema does not say so."""


@record
class ViewStep:
    """One view op; its first operand is the tensor seen, `result_index` which result is meant."""

    op: Operation
    result_index: int

    @property
    def packet(self) -> str:
        """The op's name without overload."""
        return self.op.name.removeprefix("aten.").partition(".")[0]

    @property
    def source_type(self) -> TensorType:
        """The type of the tensor that is seen."""
        found = self.op.operands[0].type
        assert isinstance(found, TensorType)
        return found

    @property
    def reads_bits(self) -> bool:
        """Whether it is the same memory as numbers of another type."""
        return self.op.name == "aten.view.dtype"

    def arg(self, name: str) -> Any:
        """A constant argument of the view op."""
        assert isinstance(self.op, SchemaOp)
        return self.op.arg(name)

    def replay(self, whole: SSAValue, reader: Operation) -> SSAValue:
        """The same view of another value, in front of `reader`."""
        copy = self.op.clone()
        copy.operands[0] = whole
        return inserted(copy, reader).results[self.result_index]

    def keeps_contiguity(self) -> bool:
        """Whether a contiguous tensor stays contiguous under this view."""
        return self.packet in SHAPE_ONLY

    def keeps_start(self) -> bool:
        """Whether the view starts at the first element of what it sees."""
        return self.packet in SHAPE_ONLY | PERMUTATIONS | {"expand", "expand_as"}


LAZY_STEPS = frozenset(["_conj", "conj", "_neg_view", "resolve_conj", "resolve_neg"])
"""Views of all elements in place, conjugated, negated or as they are."""

SHAPE_ONLY = (
    RESHAPES
    | CONVERSIONS
    | EVALUATION_IDENTITIES
    | frozenset(["view", "_unsafe_view", "squeeze", "unsqueeze"])
)
"""Views with the same elements in the same order."""

PERMUTATIONS = frozenset(
    [
        "adjoint",
        "mT",
        "matrix_H",
        "mH",
        "moveaxis",
        "movedim",
        "numpy_T",
        "permute",
        "swapaxes",
        "swapdims",
        "t",
        "transpose",
    ]
)
"""Views with the dims in another order; those named for H conjugate as well."""


def replayed(chain: tuple[ViewStep, ...], whole: SSAValue, reader: Operation) -> SSAValue:
    """The value at the end of the chain."""
    for step in chain:
        whole = step.replay(whole, reader)
    return whole


def inserted(op: Operation, reader: Operation) -> Operation:
    """`op`, put in front of `reader` with its location."""
    op.location = reader.location
    assert reader.parent is not None
    reader.parent.insert_op_before(op, reader)
    return op
