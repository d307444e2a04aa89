"""Gradients of convolutions, pooling and norms of batches: what padding holds adds nothing."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.convolution import windows_of
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, aligned_at
from lamina.lowering.bound_dynamic_shapes.pooling import axes_of, window_counts
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in
from lamina.lowering.bound_dynamic_shapes.sample_norms import known_channels
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.transposed_convolution import spread_of
from lamina.lowering.bound_dynamic_shapes.values import Bounded, known
from lamina.lowering.tensor_types import element_of, rank_of


@bounds("convolution_backward")
def convolution(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Zeros stand behind what counts of the image and of the gradient of its windows."""
    values = op.args()
    weight = b.static(values["weight"], "weight")
    given = [b.tensor(values[name]) for name in ("grad_output", "input")]
    rank = rank_of(weight) - 2
    if any(tensor.rank != rank + 2 for tensor in given):
        raise b.refuse("gradients of a sample alone", "a batch of one")
    for tensor in given:
        known_channels(tensor, b)
    gradient, image = aligned_at(0, given, b)
    count = spread_of(op, b) if values["transposed"] else windows_of(op, b)[0]
    padded: dict[int, int | None] = {}
    for axis, dim in enumerate(range(2, rank + 2)):
        padded[dim] = count(axis, known(image.shape[dim])).constant
        size = count(axis, b.size(image, dim))
        message = f"dimension {dim} of the gradient is not as long as the result"
        b.require_equal(size, b.size(gradient, dim), message)
    value = b.filled(gradient, 0)
    for dim, extent in padded.items():
        assert extent is not None
        value = b.resized(value, dim, extent)
    given_now = {"grad_output": value, "input": b.filled(image, 0), "weight": weight}
    made: Any = b.op(op.overload_name, **{**values, **given_now}).results
    sizes = [image.sizes, (None,) * (rank + 2), (None,)]
    return [Bounded(result, held) for result, held in zip(made, sizes, strict=True)]


@bounds("native_batch_norm_backward")
def batch_norm(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """(g - mean(g) - xhat mean(g xhat)) invstd weight, without the means outside training."""
    values = op.args()
    names = ("weight", "running_mean", "running_var", "save_mean", "save_invstd")
    for name in names:
        if values[name] is not None and b.state.concerns(values[name]):
            raise b.refuse(f"{name} has a size that depends on data")
    gradient, image = aligned([b.tensor(values[name]) for name in ("grad_out", "input")], b)
    known_channels(image, b)
    element, sizes, rank = computed_in(element_of(image.value)), image.sizes, image.rank
    reduced = [dim for dim in range(rank) if dim != 1]

    def channelwise(value: SSAValue) -> SSAValue:
        return b.converted(b.along(value, 1, rank), element)

    def total(value: SSAValue) -> SSAValue:
        return b("sum.dim_IntList", b.filled(Bounded(value, sizes), 0), reduced, True)

    if values["train"]:
        mean, deviation = values["save_mean"], values["save_invstd"]
    else:
        mean = values["running_mean"]
        deviation = b("rsqrt.default", b("add.Scalar", values["running_var"], values["eps"]))
    scale = channelwise(deviation)
    slope = b.converted(gradient.value, element)
    away = b("sub.Tensor", b.converted(image.value, element), channelwise(mean))
    normal = b("mul.Tensor", away, scale)
    bias, weight = total(slope), total(b("mul.Tensor", slope, normal))
    if values["train"]:
        count = b.as_tensor(b.elements(image, reduced), element)
        shift = b("div.Tensor", bias, count)
        along = b("mul.Tensor", normal, b("div.Tensor", weight, count))
        slope = b("sub.Tensor", b("sub.Tensor", slope, shift), along)
    slope = b("mul.Tensor", slope, scale)
    if values["weight"] is not None:
        slope = b("mul.Tensor", slope, channelwise(values["weight"]))
    flat = [Bounded(b.reshape(v, [image.shape[1]]), (None,)) for v in (weight, bias)]
    return [Bounded(slope, sizes), *flat]


@bounds("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Each gradient goes to the place that its index names, in the padded image."""
    values = op.args()
    image = b.tensor(values["self"])
    rank = int(op.overload_name[len("max_pool")])
    pair = [b.tensor(values[name]) for name in ("grad_output", "indices")]
    gradient, indices = aligned(pair, b)
    if image.rank == rank + 2:
        gradient, indices, image = aligned_at(0, [gradient, indices, image], b)
    place = b.filled(indices, 0)
    place = _in_padded(place, image, list(range(image.rank - rank, image.rank)), b)
    ready = {"grad_output": b.filled(gradient, 0), "self": image.value, "indices": place}
    return Bounded(b(op.overload_name, **{**values, **ready}), image.sizes)


def _in_padded(place: SSAValue, image: Bounded, dims: list[int], b: BoundBuilder) -> SSAValue:
    """Places in an image as places in the padded image."""
    if all(map(image.is_known, dims[1:])):
        return place
    left, step, found = place, 1, None
    for dim in reversed(dims):
        if dim == dims[0]:
            part = left
        else:
            size = b("clamp_min.default", b.as_tensor(b.size(image, dim)), 1)
            part = b("remainder.Tensor", left, size)
            left = b("div.Tensor_mode", left, size, rounding_mode="floor")
        part = b("mul.Scalar", part, step)
        found = part if found is None else b("add.Tensor", found, part)
        step *= image.shape[dim]
    assert found is not None
    return found


@bounds("avg_pool2d_backward", "avg_pool3d_backward")
def mean_pool(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Gradients of windows, divided among their elements; behind those that count stand zeros."""
    values, axes = op.args(), axes_of(op)
    gradient, image = _of_samples(op, len(axes), b)
    counted = all(map(image.is_known, [axis.dim for axis in axes]))
    every = values["count_include_pad"] or not any(axis.padding for axis in axes)
    if not counted and (values["ceil_mode"] or not (every or values["divisor_override"])):
        raise b.refuse("windows that count in part, of an image of open size", "whole windows")
    for dim, count in window_counts(op, image, axes, b).items():
        message = f"dimension {dim} of the gradient is not as long as the result"
        b.require_equal(count, b.size(gradient, dim), message)
    value = b.filled(gradient, 0)
    for axis in axes if not counted else ():
        extent = (image.shape[axis.dim] + 2 * axis.padding - axis.reach) // axis.stride + 1
        value = b.resized(value, axis.dim, extent)
    ready = {"grad_output": value, "self": image.value}
    return Bounded(b(op.overload_name, **{**values, **ready}), image.sizes)


@bounds("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_mean_pool(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Each sample by itself; samples of padding have gradients of their own."""
    rank = int(op.overload_name[len("_adaptive_avg_pool")])
    gradient, image = _of_samples(op, rank, b)
    if any(dim for tensor in (gradient, image) for dim in tensor.dynamic_dims):
        raise b.refuse("gradients of images whose sizes depend on data", "batches whose sizes do")
    return Bounded(b(op.overload_name, gradient.value, image.value), image.sizes)


def _of_samples(op: SchemaOp, rank: int, b: BoundBuilder) -> list[Bounded]:
    """The gradient and the image, of as many samples."""
    pair = [b.tensor(op.arg(name)) for name in ("grad_output", "self")]
    return aligned_at(0, pair, b) if pair[1].rank == rank + 2 else pair
