"""Ops on batches: each sample is computed alone, so that samples of padding do no harm."""

from __future__ import annotations

import re
from typing import Any

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, divides, quotient, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.tensor_types import rank_of


@bounds("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Channels in another order."""
    images = only_first_padded(op, b)
    _known_channels(images, 1, b)
    return Bounded(b(op.overload_name, **{**op.args(), "self": images.value}), images.sizes)


@bounds("pixel_shuffle")
def pixel_shuffle(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A block of pixels for each: those of padding stay behind the others."""
    images, factor = only_first_padded(op, b), op.arg("upscale_factor")
    _known_channels(images, images.rank - 3, b)
    dims = [dim for dim in images.dynamic_dims if dim >= images.rank - 2]
    sizes = {dim: affine(b.size(images, dim), factor, 0, b) for dim in dims}
    return resized(images, b(op.overload_name, images.value, factor), sizes, b)


@bounds("pixel_unshuffle")
def pixel_unshuffle(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A pixel for each block."""
    images, factor = only_first_padded(op, b), op.arg("downscale_factor")
    _known_channels(images, images.rank - 3, b)
    value, sizes = images.value, dict[int, Any]()
    for dim in (dim for dim in images.dynamic_dims if dim >= images.rank - 2):
        size = b.size(images, dim)
        if not divides(factor, size, b):
            rest = b("remainder.Scalar", b.as_tensor(size), factor)
            message = f"the size of dimension {dim} is no multiple of {factor}"
            b.require(b("eq.Scalar", rest, 0), b.place + message)
        value = b.resized(value, dim, images.shape[dim] // factor * factor)
        sizes[dim] = quotient(size, 0, factor, b)
    return resized(images, b(op.overload_name, value, factor), sizes, b)


def only_first_padded(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The first operand, the only one that may have padding."""
    name, *others = op.args()
    for other in others:
        value = op.arg(other)
        if any(_is_padded(entry, b) for entry in (value if isinstance(value, list) else [value])):
            raise b.refuse(f"{other} has a size that depends on data")
    return b.tensor(op.arg(name))


def spatial_dims(op: SchemaOp) -> list[int]:
    """The dimensions of an image, the last ones: as many as the name of an op on its first operand
    says, such as `avg_pool2d`."""
    found = re.search(r"(\d)d", op.overload_name)
    assert found is not None
    count, rank = int(found.group(1)), rank_of(op.operands[0])
    return list(range(rank - count, rank))


def _known_channels(images: Bounded, dim: int, b: BoundBuilder) -> None:
    if images.sizes[dim] is not None:
        raise b.refuse("a number of channels that depends on data")


def _is_padded(value: Any, b: BoundBuilder) -> bool:
    return value in b.state.tensors or value in b.state.numbers
