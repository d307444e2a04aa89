"""Ops on batches: each sample is computed alone, so that samples of padding do no harm."""

from __future__ import annotations

from typing import Any

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded

_CONVOLUTIONS = (
    "convolution",
    "_convolution",
    *(f"conv{rank}d{overload}" for rank in (1, 2, 3) for overload in ("", ".padding")),
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
)

_POOLS = tuple(
    pool.replace("#", str(rank))
    for rank in (1, 2, 3)
    for pool in (
        "max_pool#d",
        "max_pool#d_with_indices",
        "avg_pool#d",
        "adaptive_avg_pool#d",
        "adaptive_max_pool#d",
    )
)

_INNER_POOLS = ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")

_RESAMPLINGS = tuple(
    f"upsample_{kind}{overload}"
    for kind in (
        "nearest1d",
        "nearest2d",
        "nearest3d",
        "linear1d",
        "bilinear2d",
        "trilinear3d",
        "bicubic2d",
    )
    for overload in ("", ".vec")
)

_PADS = tuple(f"{kind}_pad{rank}d" for kind in ("reflection", "replication") for rank in (1, 2, 3))

_SHUFFLES = ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle")

_NORMS = ("group_norm", "instance_norm", "_native_batch_norm_legit_no_training")


@bounds(*_CONVOLUTIONS, *_POOLS, *_INNER_POOLS, *_RESAMPLINGS, *_PADS, *_SHUFFLES, *_NORMS)
def batch(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """The number of samples may be padded, the first dimension of the first operand."""
    return _samples(op, b)


@bounds("batch_norm", "native_batch_norm")
def batch_norm(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """With running statistics each sample is normalized alone."""
    if op.arg("training"):
        raise b.refuse("statistics of a batch whose size depends on data", "eval()")
    return _samples(op, b)


def _samples(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    arguments = op.args()
    name = next(iter(arguments))
    tensor = b.tensor(arguments[name])
    if any(dim > 0 for dim in tensor.dynamic_dims):
        raise b.refuse("sizes of samples that depend on data", "a batch whose size does")
    for other, value in arguments.items():
        if other != name and any(_is_padded(entry, b) for entry in _flat(value)):
            raise b.refuse(f"{other} has a size that depends on data")
    made = b.op(op.overload_name, **{**arguments, name: tensor.value}).results
    found = [_as_batch(Bounded(value, ()), tensor) for value in made]
    return found[0] if len(found) == 1 else found


def _as_batch(made: Bounded, given: Bounded) -> Bounded:
    shape = made.shape
    is_batch = bool(shape) and shape[0] == given.shape[0] and len(shape) > 1
    return Bounded(made.value, (given.sizes[0] if is_batch else None, *[None] * (len(shape) - 1)))


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _is_padded(value: Any, b: BoundBuilder) -> bool:
    return value in b.state.tensors or value in b.state.numbers
