"""Transposed convolutions: each element of an image is spread over a window, where windows add up.

Zeros behind the end of an image of open size spread zeros, of which windows of elements that count
know nothing; but zero times a weight that is infinite or no number is no number, and where windows
overlap, it would be added to what counts. For such weights the windows of the padding are replaced
by zeros before they are added.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import Block, Region, SSAValue

from lamina.dialects.control import CondOp, YieldOp
from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import element_of, is_float, rank_of, shape_of

Count = Callable[[int, Number], Number]
"""How many outputs an axis has, by its number and its size."""


@record
class _Axis:
    """How windows lie along one spatial dimension."""

    window: int
    stride: int
    padding: int
    extra: int
    dilation: int

    @property
    def reach(self) -> int:
        """How far apart the first and the last element of a window land."""
        return self.dilation * (self.window - 1)


def _axes_of(op: SchemaOp) -> list[_Axis]:
    windows = shape_of(op.arg("weight"))[2:]
    names = ("stride", "padding", "output_padding", "dilation")
    given = [repeat_to(op.arg(name), len(windows), name) for name in names]
    return [_Axis(*numbers) for numbers in zip(windows, *given, strict=True)]


def spread_of(op: SchemaOp, b: BoundBuilder) -> Count:
    """How many outputs of a transposed convolution, or of its gradients, there are."""
    axes = _axes_of(op)

    def count(number: int, size: Number) -> Number:
        axis = axes[number]
        more = axis.reach + axis.extra + 1 - 2 * axis.padding - axis.stride
        message = f"padding {axis.padding} leaves nothing of its size"
        b.require_least(size, max(-(more // axis.stride), 0), message)
        return affine(size, axis.stride, more, b)

    return count


def open_axes(op: SchemaOp, rank: int, b: BoundBuilder) -> tuple[Bounded, dict[int, int]]:
    """The image of a convolution, and which of its open dimensions is which spatial one."""
    image = only_first_padded(op, b)
    channels = image.rank - rank - 1
    if image.sizes[channels] is not None:
        raise b.refuse("a number of channels that depends on data")
    axes = {channels + 1 + axis: axis for axis in range(rank)}
    return image, {dim: axis for dim, axis in axes.items() if not image.is_known(dim)}


@bounds("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def transposed_convolution(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The gradient of a convolution: each element is spread over a window."""
    return transposed(op, b)


def transposed(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The op on an image with zeros behind its ends, or the sum of its windows that count."""
    image, dims = open_axes(op, rank_of(op.arg("weight")) - 2, b)
    axes, count = _axes_of(op), spread_of(op, b)
    sizes = {dim: count(axis, b.size(image, dim)) for dim, axis in dims.items()}
    filled = b.filled(image, 0, list(dims))
    mask = b.mask(image, list(dims))
    meet = any(axes[axis].reach >= axes[axis].stride for axis in dims.values())
    if mask is not None and meet and is_float(element_of(filled)):
        made = _of_any_weights(op, filled, mask, b)
    else:
        made = b(op.overload_name, **{**op.args(), "input": filled})
    return resized(image, made, sizes, b)


def _of_any_weights(op: SchemaOp, image: SSAValue, mask: SSAValue, b: BoundBuilder) -> SSAValue:
    """The op itself if all weights are finite."""
    given = [image, op.arg("weight"), mask]
    bias = op.args().get("bias")
    given += [] if bias is None else [bias]
    finite = b("all.default", b("isfinite.default", given[1]))
    regions = list[Region]()
    kind = None
    for exactly in (False, True):
        end = YieldOp([])
        end.location = b.anchor.location
        block = Block([end], arg_types=[value.type for value in given])
        inner = BoundBuilder(end, b.state)
        image, weight, mask, *rest = block.args
        added = rest[0] if rest else None
        if exactly:
            made = _added_windows(op, image, weight, mask, added, inner)
        else:
            values = {"input": image, "weight": weight, "bias": added}
            made = inner(op.overload_name, **{**op.args(), **values})
        end.operands = [made]
        kind = made.type
        regions.append(Region(block))
    assert kind is not None
    return b.insert(CondOp(finite, given, [kind], *regions)).results[0]


def _added_windows(
    op: SchemaOp,
    image: SSAValue,
    weight: SSAValue,
    mask: SSAValue,
    bias: SSAValue | None,
    b: BoundBuilder,
) -> SSAValue:
    """A product makes all windows, those of the padding become zeros, and the rest is added up,
    one spatial dimension after the other."""
    axes, groups, element = _axes_of(op), op.arg("groups"), element_of(image)
    wide, rank = computed_in(element), len(axes)
    batch = shape_of(image)[: -rank - 1]
    extents, windows = shape_of(image)[-rank:], [axis.window for axis in axes]
    channels, outputs = shape_of(weight)[:2]
    rows = [*batch, groups, channels // groups, prod(extents)]
    columns = [groups, channels // groups, outputs * prod(windows)]
    turned = b("transpose.int", b.reshape(b.converted(weight, wide), columns), 1, 2)
    made = b("matmul.default", turned, b.reshape(b.converted(image, wide), rows))
    counts = b.reshape(mask, [*[1] * (len(batch) + 1 + rank), *shape_of(mask)[-rank:]])
    made = b.reshape(made, [*batch, groups * outputs, *windows, *extents])
    made = b.where(counts, made, 0)
    first = len(batch) + 1
    for number, axis in enumerate(axes):
        made = _added_along(made, first + number, rank - number, axis, b)
    if bias is not None:
        made = b("add.Tensor", made, b.along(b.converted(bias, wide), first - 1, first + rank))
    return b.converted(made, element)


def _added_along(made: SSAValue, dim: int, left: int, axis: _Axis, b: BoundBuilder) -> SSAValue:
    """Windows (dimension `dim`) of the elements (`left` dimensions behind) where they land."""
    window, extent = dim, dim + left
    others = [d for d in range(rank_of(made)) if d not in (window, extent)]
    turned = b("permute.default", made, [*others, window, extent])
    *outer, count, length = shape_of(turned)
    values = b.reshape(turned, [*outer, count * length])
    within = b.along(b("mul.Scalar", b.iota(count), axis.dilation), 0, 2)
    starts = b.along(b("mul.Scalar", b.iota(length), axis.stride), 1, 2)
    places = b.reshape(b("add.Tensor", within, starts), [count * length])
    covered = max(length - 1, 0) * axis.stride + axis.reach + 1
    zeros = b.full([*outer, covered], 0, element_of(values))
    total = b("index_add.default", zeros, len(outer), places, values)
    wanted = covered - 2 * axis.padding + axis.extra
    total = b.slice(total, len(outer), axis.padding, covered)
    total = b.resized(total, len(outer), wanted)
    back = [*range(dim), len(outer), *range(dim, len(outer))]
    return b("permute.default", total, back)
