"""View ops as steps from one tensor to another: replaying a chain, and writing back through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import unsupported

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

    def arg(self, name: str) -> Any:
        """A constant argument of the view op."""
        assert isinstance(self.op, SchemaOp)
        return self.op.arg(name)

    def replay(self, whole: SSAValue, reader: Operation) -> SSAValue:
        """The same view of another value, in front of `reader`."""
        copy = self.op.clone()
        copy.operands[0] = whole
        return _insert(copy, reader).results[self.result_index]

    def keeps_contiguity(self) -> bool:
        """Whether a contiguous tensor stays contiguous under this view."""
        return self.packet in _SHAPE_ONLY or self.packet in _EVALUATION_IDENTITIES


_SHAPE_ONLY = _RESHAPES | _CONVERSIONS | frozenset(["view", "_unsafe_view", "squeeze", "unsqueeze"])


def replayed(chain: tuple[ViewStep, ...], whole: SSAValue, reader: Operation) -> SSAValue:
    """The value at the end of the chain."""
    for step in chain:
        whole = step.replay(whole, reader)
    return whole


def written_back(
    chain: tuple[ViewStep, ...], whole: SSAValue, value: SSAValue, writer: Operation
) -> SSAValue:
    """The whole after the tensor at the end of the chain became `value`."""
    seen = [whole]
    for position, step in enumerate(chain[:-1]):
        # Only steps that keep other elements read what they write into.
        needed = any(later.packet in _PARTIAL for later in chain[position + 1 :])
        seen.append(step.replay(seen[-1], writer) if needed else seen[-1])
    for step, base in zip(reversed(chain), reversed(seen[: len(chain)]), strict=True):
        value = _inverse(step, base, value, writer)
    return value


def _inverse(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    if step.packet in _SHAPE_ONLY or step.packet in _EVALUATION_IDENTITIES:
        return _reshaped(value, step.source_type, writer)
    if step.packet in ("permute", "numpy_T", "t", "mT", "transpose", "swapaxes", "swapdims"):
        return _unpermuted(step, value, writer)
    if step.packet in _PARTIAL:
        return _PARTIAL[step.packet](step, base, value, writer)
    raise unsupported(
        writer, f"writes through {step.op.name}", "view, transpose, permute, select, slice, split"
    )


def _insert(op: Operation, reader: Operation) -> Operation:
    op.location = reader.location
    assert reader.parent is not None
    reader.parent.insert_op_before(op, reader)
    return op


def _made(reader: Operation, name: str, *args: Any) -> SSAValue:
    op_class: Any = aten.op(name)
    return _insert(op_class(*args), reader).results[0]


def _reshaped(value: SSAValue, to: TensorType, writer: Operation) -> SSAValue:
    shape = list(to.get_shape())
    if -1 in shape:
        raise unsupported(writer, "writes through a view of a tensor with dynamic dimensions")
    if value.type == to:
        return value
    return _made(writer, "reshape.default", value, shape)


def _unpermuted(step: ViewStep, value: SSAValue, writer: Operation) -> SSAValue:
    rank = step.source_type.get_num_dims()
    if step.packet == "permute":
        dims = [d % rank for d in step.arg("dims")]
        inverse = [dims.index(d) for d in range(rank)]
    else:
        inverse = list(range(rank))
        if step.packet == "numpy_T":
            inverse.reverse()
        elif rank > 1:
            first, second = (0, 1) if step.packet == "t" else (rank - 2, rank - 1)
            if step.packet not in ("t", "mT"):
                assert isinstance(step.op, SchemaOp)
                first, second = (step.arg(a.name) % rank for a in step.op.schema.args[1:3])
            inverse[first], inverse[second] = second, first
    return _made(writer, "permute.default", value, inverse)


def _into_slice(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    names = ("dim", "start", "end", "step")
    return _made(writer, "slice_scatter.default", base, value, *(step.arg(n) for n in names))


def _into_narrow(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim, start, length = step.arg("dim"), step.arg("start"), step.arg("length")
    if start < 0:
        start += step.source_type.get_shape()[dim]
    return _made(writer, "slice_scatter.default", base, value, dim, start, start + length, 1)


def _into_select(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim, index = step.arg("dim"), step.arg("index")
    return _made(writer, "select_scatter.default", base, value, dim, index)


def _into_piece(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim = step.arg("dim") % step.source_type.get_num_dims()
    before = list(step.op.results)[: step.result_index]
    start = sum(_extent(result, dim) for result in before)
    end = start + _extent(step.op.results[step.result_index], dim)
    return _made(writer, "slice_scatter.default", base, value, dim, start, end, 1)


def _into_unbound(step: ViewStep, base: SSAValue, value: SSAValue, writer: Operation) -> SSAValue:
    dim = step.arg("dim")
    return _made(writer, "select_scatter.default", base, value, dim, step.result_index)


def _extent(value: SSAValue, dim: int) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()[dim]


_PARTIAL: dict[str, Callable[[ViewStep, SSAValue, SSAValue, Operation], SSAValue]] = {
    "slice": _into_slice,
    "narrow": _into_narrow,
    "select": _into_select,
    "split": _into_piece,
    "chunk": _into_piece,
    "split_with_sizes": _into_piece,
    "tensor_split": _into_piece,
    "unbind": _into_unbound,
}
"""Views of a part: writing back needs the old whole."""
