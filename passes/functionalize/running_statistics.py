"""Batch and instance normalization that update running statistics, which schemas do not say."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import unsupported

_TRAINING = {
    "_batch_norm_impl_index": "training",
    "batch_norm": "training",
    "instance_norm": "use_input_stats",
    "native_batch_norm": "training",
}
"""Packets that write their running statistics, and the argument that has to be set for it."""

STATISTICS = ["running_mean", "running_var"]
"""The written arguments."""


def updates_statistics(op: Operation) -> bool:
    """Whether `op` writes its running statistics."""
    if not isinstance(op, SchemaOp) or not op.name.startswith("aten."):
        return False
    flag = _TRAINING.get(op.overload_name.removesuffix(".default"))
    return flag is not None and bool(op.arg(flag)) and op.arg("running_mean") is not None


def updated_statistics(op: SchemaOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """New statistics and the op's results, by `_native_batch_norm_legit_functional`."""
    if op.overload_name.startswith("instance_norm"):
        return _of_instances(op)
    values = [op.arg(name) for name in ("input", "weight", "bias", *STATISTICS)]
    made = _normalized(op, values)
    return made[3:], made[: len(op.results)]


def _of_instances(op: SchemaOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """All samples' channels as channels of one; statistics are averaged over the samples."""
    x = op.arg("input")
    assert isinstance(x.type, TensorType)
    if not x.type.has_static_shape():
        reason = "running statistics are averaged over samples whose sizes are known"
        raise unsupported(op, reason, "batch_norm, or the program for numbers")
    batch, channels, *spatial = x.type.get_shape()
    joined = _op(op, "reshape.default", x, [1, batch * channels, *spatial])
    given = [op.arg(name) for name in ("weight", "bias", *STATISTICS)]
    repeated = [None if v is None else _op(op, "repeat.default", v, [batch]) for v in given]
    made = _normalized(op, [joined, *repeated])
    means = [
        _op(op, "mean.dim", _op(op, "reshape.default", v, [batch, channels]), [0]) for v in made[3:]
    ]
    return means, [_op(op, "reshape.default", made[0], list(x.type.get_shape()))]


def _normalized(op: SchemaOp, values: list[SSAValue | None]) -> list[SSAValue]:
    made = _made(op, "_native_batch_norm_legit_functional.default", *values,
                 True, op.arg("momentum"), op.arg("eps"))  # fmt: skip
    return list(made.results)


def _op(op: SchemaOp, name: str, *args: Any) -> SSAValue:
    return _made(op, name, *args).results[0]


def _made(op: SchemaOp, name: str, *args: Any) -> Operation:
    op_class: Any = aten.op(name)
    made: Operation = op_class(*args)
    made.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(made, op)
    return made
