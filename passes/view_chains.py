"""View ops as steps from one tensor to another, and replaying a chain of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp

if TYPE_CHECKING:
    from lamina.passes.places import Place


class Aliasing(Enum):
    """How a result relates to the memory of an operand."""

    NONE = auto()
    VIEW = auto()
    MAYBE = auto()


_RESHAPES = frozenset(
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

_CONVERSIONS = frozenset(["to", "type_as"])
"""The operand itself if there is nothing to convert, else a copy."""

_EVALUATION_IDENTITIES = frozenset(
    ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"]
)
"""Give back their operand itself in evaluation, though the schema does not say so."""

_UNDECLARED = frozenset(
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_tensors",
        "cartesian_prod",
        "einsum",
        "meshgrid",
        "positive",
    ]
)
"""May give back views of operands, though the schema does not say so."""


def aliasing_of(
    op: Operation, index: int, places: Mapping[SSAValue, Place]
) -> tuple[Aliasing, SSAValue | None]:
    """How result `index` of `op` shares memory, and with which operand."""
    if not op.name.startswith("aten.") or not op.operands:
        return Aliasing.NONE, None
    packet = op.name.removeprefix("aten.").partition(".")[0]
    operand = op.operands[0]
    same_dtype = _element(op.results[index]) == _element(operand)
    if operand not in places:
        return Aliasing.NONE, None
    if packet in _RESHAPES:
        sure = places[operand].contiguous or packet in ("view_as", "unflatten", "_reshape_alias")
        sure = sure or (packet != "contiguous" and op.results[index].type == operand.type)
        return (Aliasing.VIEW if sure else Aliasing.MAYBE), operand
    if packet in _CONVERSIONS:
        copies = not same_dtype or _flag(op, "copy")
        return (Aliasing.NONE if copies else Aliasing.VIEW), operand
    if packet in _EVALUATION_IDENTITIES:
        return (Aliasing.NONE if _flag(op, "train") else Aliasing.VIEW), operand
    if packet in _UNDECLARED:
        return Aliasing.MAYBE, operand
    return (Aliasing.VIEW if _declares_view(op) else Aliasing.NONE), operand


def _declares_view(op: Operation) -> bool:
    if not isinstance(op, SchemaOp) or not op.schema.args:
        return False
    return op.schema.args[0].alias is not None and op.schema.aliases


def _flag(op: Operation, name: str) -> bool:
    assert isinstance(op, SchemaOp)
    return op.schema.arg(name) is not None and bool(op.arg(name))


def _element(value: SSAValue) -> object:
    return value.type.get_element_type() if isinstance(value.type, TensorType) else value.type


@dataclass(frozen=True)
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


SHAPE_ONLY = (
    _RESHAPES
    | _CONVERSIONS
    | _EVALUATION_IDENTITIES
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
