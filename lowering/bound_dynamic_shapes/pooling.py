"""Pooling: windows of an image of open size take what is in the image.

Behind its end stands what a maximum leaves out, or zeros; means are divided by how many elements of
a window count, as torch counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded, spatial_dims
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in, least_of
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, quotient, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import element_of, is_float, shape_of


@record
class Axis:
    """Windows along one dimension: of how many elements, and how far apart they begin."""

    dim: int
    window: int
    stride: int
    padding: int
    dilation: int

    @property
    def reach(self) -> int:
        """From the first element of a window to behind its last."""
        return self.dilation * (self.window - 1) + 1


@bounds(*(f"max_pool{rank}d{more}" for rank in (1, 2, 3) for more in ("", "_with_indices")))
def max_pool(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """The largest of each window, and where it stands in the image."""
    image, axes = only_first_padded(op, b), axes_of(op)
    sizes = window_counts(op, image, axes, b)
    filled = b.filled(image, least_of(element_of(image.value)), list(sizes))
    made: Any = b.op(op.overload_name, **{**op.args(), "self": filled}).results
    largest = resized(image, made[0], sizes, b)
    if len(made) == 1:
        return largest
    dims = [axis.dim for axis in axes]
    return [largest, Bounded(_renumbered(made[1], image, dims, b), largest.sizes)]


@bounds(*(f"avg_pool{rank}d" for rank in (1, 2, 3)))
def avg_pool(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Sums of windows by how many elements these have."""
    image, axes, values = only_first_padded(op, b), axes_of(op), op.args()
    sizes = window_counts(op, image, axes, b)
    filled = b.filled(image, 0, list(sizes))
    ceil, with_pads = values["ceil_mode"], values["count_include_pad"]
    always = with_pads or not any(axis.padding for axis in axes)
    if values.get("divisor_override") is not None or not sizes or (always and not ceil):
        return resized(image, b(op.overload_name, **{**values, "self": filled}), sizes, b)
    element = element_of(filled)
    if not is_float(element):
        raise b.refuse("means of integers whose number depends on data", "floats")
    total = _window_sums(b.converted(filled, computed_in(element)), axes, ceil, b)
    shape = shape_of(total)
    for axis in axes:
        count = _elements_of_windows(axis, b.size(image, axis.dim), shape[axis.dim], with_pads, b)
        count = b.along(b.converted(count, element_of(total)), axis.dim, len(shape))
        total = b("div.Tensor", total, count)
    return resized(image, total, sizes, b)


def axes_of(op: SchemaOp) -> list[Axis]:
    """The windows of an op along each dimension of its image."""
    values, dims = op.args(), spatial_dims(op)
    windows = repeat_to(values["kernel_size"], len(dims), "kernel_size")
    strides = repeat_to(values["stride"] or windows, len(dims), "stride")
    paddings = repeat_to(values["padding"], len(dims), "padding")
    dilations = repeat_to(values.get("dilation", [1]), len(dims), "dilation")
    return [Axis(*row) for row in zip(dims, windows, strides, paddings, dilations, strict=True)]


def window_counts(
    op: SchemaOp, image: Bounded, axes: Sequence[Axis], b: BoundBuilder
) -> dict[int, Number]:
    """How many windows there are along each open dimension."""
    ceil, found = op.arg("ceil_mode"), dict[int, Number]()
    for axis in axes:
        if image.sizes[axis.dim] is None:
            continue
        size = b.size(image, axis.dim)
        more = axis.stride - 1 if ceil else 0
        least = max(axis.reach - 2 * axis.padding - more, 1 - axis.padding if ceil else 0)
        message = f"a window of {axis.window} does not fit a dim of its size"
        b.require_least(size, least, message)
        count = quotient(size, 2 * axis.padding - axis.reach + more, axis.stride, b)
        count = affine(count, 1, 1, b)
        found[axis.dim] = _begun(axis, size, count, b) if ceil else count
    return found


def _begun(axis: Axis, size: Number, count: Number, b: BoundBuilder) -> Number:
    """Windows that may hang over, but for one that would begin behind the image."""
    last = affine(count, axis.stride, -axis.stride, b)
    end = affine(size, 1, axis.padding, b)
    behind = b("ge.Tensor", b.as_tensor(last), b.as_tensor(end))
    value = b.where(behind, b.as_tensor(affine(count, 1, -1, b)), b.as_tensor(count))
    return Number(value, count.most, 0)


def _renumbered(index: SSAValue, image: Bounded, dims: Sequence[int], b: BoundBuilder) -> SSAValue:
    """Places in the padded image as places in the image."""
    left = index
    place: SSAValue | None = None
    scale: SSAValue | None = None
    for dim in reversed(dims):
        extent = max(image.shape[dim], 1)
        part = b("remainder.Scalar", left, extent)
        left = b("div.Scalar_mode", left, extent, rounding_mode="floor")
        part = part if scale is None else b("mul.Tensor", part, scale)
        place = part if place is None else b("add.Tensor", place, part)
        size = b.as_tensor(b.size(image, dim))
        scale = size if scale is None else b("mul.Tensor", scale, size)
    assert place is not None
    return place


def _window_sums(value: SSAValue, axes: Sequence[Axis], ceil: bool, b: BoundBuilder) -> SSAValue:
    windows, strides, paddings = (
        [getattr(axis, name) for axis in axes] for name in ("window", "stride", "padding")
    )
    options: dict[str, Any] = {"ceil_mode": ceil, "divisor_override": 1}
    if len(axes) > 1:
        return b(f"avg_pool{len(axes)}d.default", value, windows, strides, paddings, **options)
    wide = b("unsqueeze.default", value, -2)
    windows, strides, paddings = [1, *windows], [1, *strides], [0, *paddings]
    made = b("avg_pool2d.default", wide, windows, strides, paddings, **options)
    return b("squeeze.dim", made, -2)


def _elements_of_windows(
    axis: Axis, size: Number, windows: int, with_pads: bool, b: BoundBuilder
) -> SSAValue:
    """(windows,): how many elements of each count, 1 at least."""
    end = b.as_tensor(affine(size, 1, axis.padding if with_pads else 0, b))
    first = b("mul.Scalar", b.iota(windows), axis.stride)
    first = b("sub.Scalar", first, axis.padding) if axis.padding else first
    last = b("minimum.default", b("add.Scalar", first, axis.window), end)
    if not with_pads:
        first = b("clamp_min.default", first, 0)
    return b("clamp_min.default", b("sub.Tensor", last, first), 1)
