"""Convolutions: behind the end of an image of open size stand zeros, as padding has them.

What a window reads there adds nothing, so that outputs that count are those of the image alone. A
batch may be open as well: each sample is computed by itself.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.convolution import both_paddings
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, quotient, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.transposed_convolution import Count, open_axes, transposed
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import rank_of, shape_of


@bounds(
    "convolution",
    "_convolution",
    *(f"conv{rank}d{overload}" for rank in (1, 2, 3) for overload in ("", ".padding")),
)
def convolution(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Windows that begin in the image; either kind, where an argument says which."""
    if op.args().get("transposed", False):
        return transposed(op, b)
    rank = rank_of(op.arg("weight")) - 2
    count, axes = windows_of(op, b)
    keeps = [window == stride == 1 and not padding for window, stride, _, padding in axes]
    return _convolved(op, rank, keeps, count, b)


def windows_of(op: SchemaOp, b: BoundBuilder) -> tuple[Count, list[tuple[int, int, int, int]]]:
    """How many windows of a convolution, or of its gradients, there are; and of each axis how long
    one is, their steps, the dilation, and the padding of both ends together."""
    windows = shape_of(op.arg("weight"))[2:]
    rank = len(windows)
    for name in ("stride", "padding", "dilation"):
        if any(isinstance(number, SSAValue) for number in op.args().get(name, ())):
            raise b.refuse(f"a {name} that comes with the call", "a number that is the same in all")
    strides = repeat_to(op.arg("stride"), rank, "stride")
    dilations = repeat_to(op.args().get("dilation", [1]), rank, "dilation")
    paddings = both_paddings(op.arg("padding"), tuple(windows), dilations, strides)
    axes = list(zip(windows, strides, dilations, paddings, strict=True))

    def count(axis: int, size: Number) -> Number:
        window, stride, dilation, padding = axes[axis]
        reach = dilation * (window - 1) + 1
        message = f"a window of {window} does not fit a padded dim of its size"
        b.require_least(size, max(reach - padding, 0), message)
        counted = quotient(size, padding - reach, stride, b)
        return affine(counted, 1, 1, b)

    return count, axes


def _convolved(
    op: SchemaOp, rank: int, keeps: list[bool], count: Count, b: BoundBuilder
) -> Bounded:
    """The op on an image with zeros behind its ends; axes that it `keeps` need none."""
    image, axes = open_axes(op, rank, b)
    sizes = {dim: count(axis, b.size(image, dim)) for dim, axis in axes.items()}
    filled = b.filled(image, 0, [dim for dim, axis in axes.items() if not keeps[axis]])
    return resized(image, b(op.overload_name, **{**op.args(), "input": filled}), sizes, b)
