"""In-place ops that change shape and strides of a tensor and none of its elements."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation

from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import unsupported

_EXCHANGES = frozenset(["swapaxes_", "swapdims_", "transpose_"])


def is_metadata_change(op: Operation) -> bool:
    """Whether only shape and strides of the tensor object change (`transpose_`, `squeeze_`)."""
    return isinstance(op, SchemaOp) and "inplace_view" in op.schema.tags


def changes_nothing(op: SchemaOp) -> bool:
    """Whether a change of shape leaves the tensor as it is: `squeeze_` without a dim of extent 1.

    `resize_` to the shape that a tensor has is one if it does not ask for an order of dims.
    """
    kind = op.arg(op.schema.args[0].name).type
    assert isinstance(kind, TensorType)
    rank = kind.get_num_dims()
    packet = op.overload_name.partition(".")[0]
    if packet in ("resize_", "resize_as_"):
        asked = op.arg("memory_format")
        return (
            op.results[0].type == kind and DYNAMIC_INDEX not in kind.get_shape() and asked is None
        )
    if packet == "squeeze_":
        return op.results[0].type == kind and DYNAMIC_INDEX not in kind.get_shape()
    if packet == "t_":
        return rank < 2
    if packet in _EXCHANGES:
        first, second = (op.arg(a.name) for a in op.schema.args[1:3])
        return rank == 0 or (first - second) % rank == 0
    return False


def refuse_resizing(op: SchemaOp) -> None:
    """Raise UnsupportedError for `resize_` and `resize_as_` that change the shape of a tensor."""
    if op.overload_name.partition(".")[0] in ("resize_", "resize_as_"):
        reason = "changes how much memory a tensor takes, or where its elements are"
        raise unsupported(op, reason, "a new tensor: view, slice or cat of this one")
