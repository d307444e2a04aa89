"""Norms of samples and of channels: what is reduced is the elements of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in
from lamina.lowering.bound_dynamic_shapes.table import Results, bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped, whole
from lamina.lowering.tensor_types import element_of, rank_of


@takes_groups
@bounds("batch_norm", "native_batch_norm", "_native_batch_norm_legit_no_training")
def batch_norm(op: SchemaOp, b: BoundBuilder) -> Results:
    """With running statistics each element is normalized alone."""
    values = op.args()
    name = next(iter(values))
    given = b.state.grouped.get(op.operands[0])
    if not values.get("training") and given is not None and given.groups[1:] == (1,):
        tensor = given.tensor
        joined = Bounded(b.reshape(tensor.value, [-1, tensor.shape[-1]]), (None, tensor.sizes[-1]))
        known_channels(joined, b)
        made: Any = b.op(op.overload_name, **{**values, name: joined.value}).results
        rows = Grouped(Bounded(b.reshape(made[0], tensor.shape), tensor.sizes), given.groups)
        return [rows, *(whole(value) for value in made[1:])]
    move_together(op, b)
    if values.get("training"):
        return _by_statistics(op, b)
    tensor = only_first_padded(op, b)
    known_channels(tensor, b)
    made = b.op(op.overload_name, **{**values, name: tensor.value}).results
    return [Bounded(made[0], tensor.sizes), *(whole(value) for value in made[1:])]


@bounds("instance_norm", "group_norm")
def norm_of_samples(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Channels of a sample, each by itself or in groups."""
    tensor, values = only_first_padded(op, b), op.args()
    if all(map(tensor.is_known, range(1, tensor.rank))):
        made = b(op.overload_name, **{**values, "input": tensor.value})
        return Bounded(made, tensor.sizes)
    known_channels(tensor, b)
    if not values.get("use_input_stats", True):
        raise b.refuse("running statistics of samples whose size depends on data")
    return _normalized(tensor, values.get("num_groups", tensor.shape[1]), values, b)[0]


@bounds("native_group_norm")
def native_group_norm(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """The same, with the mean of each group and one by its deviation."""
    values = op.args()
    tensor = b.tensor(values["input"])
    if any(values[name] in b.state.tensors for name in ("weight", "bias")):
        raise b.refuse("weights of a number that depends on data")
    known_channels(tensor, b)
    if any(dim > 1 for dim in tensor.dynamic_dims):
        return _normalized(tensor, values["group"], values, b)
    samples, channels, *image = tensor.shape
    values.update(input=tensor.value, N=samples, C=channels, HxW=prod(image))
    made: Any = b.op(op.overload_name, **values).results
    sizes = (tensor.sizes, *[(tensor.sizes[0], None)] * 2)
    return [Bounded(value, held) for value, held in zip(made, sizes, strict=True)]


def known_channels(tensor: Bounded, b: BoundBuilder) -> None:
    """Refuses an op whose second dimension is padded."""
    if tensor.rank > 1 and tensor.sizes[1] is not None:
        raise b.refuse("a number of channels that depends on data")


def _normalized(
    tensor: Bounded, groups: int, values: dict[str, Any], b: BoundBuilder
) -> list[Bounded]:
    """Elements by the mean and the variance of their group, in two passes; as (samples, groups) the
    means, and one by the deviations."""
    wide = b.converted(tensor.value, computed_in(element_of(tensor.value)))
    samples, channels, *extents = tensor.shape
    shape = [samples, groups, channels // groups, *extents]
    sizes = (tensor.sizes[0], None, None, *tensor.sizes[2:])
    grouped = Bounded(b.reshape(wide, shape), sizes)
    reduced = list(range(2, grouped.rank))
    count = b.as_tensor(b.elements(grouped, reduced), element_of(wide))
    mean = _mean(grouped, reduced, count, b)
    away = b("sub.Tensor", grouped.value, mean)
    squares = Bounded(b("mul.Tensor", away, away), sizes)
    variance = _mean(squares, reduced, count, b)
    scale = b("rsqrt.default", b("add.Scalar", variance, values["eps"]))
    value = b.reshape(b("mul.Tensor", away, scale), tensor.shape)
    value = _weighted(value, values, b)
    flat = [b.reshape(number, [samples, groups]) for number in (mean, scale)]
    return [Bounded(value, tensor.sizes), *(Bounded(v, (tensor.sizes[0], None)) for v in flat)]


def _weighted(value: SSAValue, values: dict[str, Any], b: BoundBuilder) -> SSAValue:
    """Channels times their weights, with their bias, where there are any."""
    for name, function in (("weight", "mul.Tensor"), ("bias", "add.Tensor")):
        if values[name] is not None:
            factor = b.along(values[name], 1, rank_of(value))
            value = b(function, value, b.converted(factor, element_of(value)))
    return value


@bounds("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional")
def batch_statistics(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """The op of training, in the forms that give all statistics."""
    return _by_statistics(op, b)


def _by_statistics(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """By mean and variance of the elements that count, over all samples; and what the running
    statistics become, the variance as that of a sample."""
    values = op.args()
    tensor = only_first_padded(op, b)
    if not values["training"] or tensor.rank < 2:
        raise b.refuse("a norm of a batch whose size depends on data", "batch_norm")
    known_channels(tensor, b)
    sizes, channels = tensor.sizes, tensor.shape[1]
    wide = b.converted(tensor.value, computed_in(element_of(tensor.value)))
    reduced = [dim for dim in range(tensor.rank) if dim != 1]
    count = b.as_tensor(b.elements(tensor, reduced), element_of(wide))
    mean = _mean(Bounded(wide, sizes), reduced, count, b)
    away = b("sub.Tensor", wide, mean)
    variance = _mean(Bounded(b("mul.Tensor", away, away), sizes), reduced, count, b)
    scale = b("rsqrt.default", b("add.Scalar", variance, values["eps"]))
    made = [_weighted(b("mul.Tensor", away, scale), values, b)]
    made += [b.reshape(number, [channels]) for number in (mean, scale)][: len(op.results) - 1]
    if len(op.results) == 5:
        more = b("div.Tensor", count, b("sub.Scalar", count, 1))
        batch = (mean, b("mul.Tensor", variance, more))
        for new, name in zip(batch, ("running_mean", "running_var"), strict=True):
            old, momentum = values[name], values["momentum"]
            new = b("mul.Scalar", b.reshape(new, [channels]), momentum)
            made.append(b("add.Tensor", new, b("mul.Scalar", old, 1 - momentum)))
    return [Bounded(made[0], sizes), *(Bounded(value, (None,)) for value in made[1:])]


def _mean(tensor: Bounded, dims: Sequence[int], count: SSAValue, b: BoundBuilder) -> SSAValue:
    total = b("sum.dim_IntList", b.filled(tensor, 0, dims), list(dims), True)
    return b("div.Tensor", total, count)
