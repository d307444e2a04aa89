"""Losses over samples of unknown number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in, mean_over
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped
from lamina.lowering.tensor_types import element_of, rank_of

_NONE, _MEAN, _SUM = 0, 1, 2


@bounds(
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "soft_margin_loss",
)
def distance_loss(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A pointwise distance, then its mean or sum over samples."""
    values = op.args()
    given, sizes = _aligned_tensors(values, b)
    loss = Bounded(b(op.overload_name, **{**values, **given, "reduction": _NONE}), sizes)
    if values["reduction"] == _NONE:
        return loss
    dims = list(range(loss.rank))
    if values["reduction"] == _MEAN:
        return Bounded(mean_over(loss, dims, False, b), ())
    return Bounded(b("sum.default", b.filled(loss, 0)), ())


@bounds(
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "binary_cross_entropy_backward",
    "soft_margin_loss_backward",
)
def distance_gradient(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Of each element; that of a mean is a part of how many count."""
    values = op.args()
    given, sizes = _aligned_tensors(values, b)
    if values["reduction"] == _MEAN:
        element = element_of(given["grad_output"])
        count = b.as_tensor(b.elements(Bounded(given["self"], sizes)), element)
        given["grad_output"] = b("div.Tensor", given["grad_output"], count)
        values["reduction"] = _SUM
    return Bounded(b(op.overload_name, **{**values, **given}), sizes)


def _aligned_tensors(
    values: Mapping[str, Any], b: BoundBuilder
) -> tuple[dict[str, SSAValue], tuple[Count, ...]]:
    """The tensors among arguments, by name, and the sizes of what they broadcast to."""
    names = [
        name
        for name, value in values.items()
        if isinstance(value, SSAValue) and isinstance(value.type, TensorType)
    ]
    tensors = aligned([b.tensor(values[name]) for name in names], b)
    given = {name: tensor.value for name, tensor in zip(names, tensors, strict=True)}
    return given, common_sizes(tensors)


@takes_groups
@bounds("cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss_forward")
def class_loss(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Padding is a class that the loss ignores, and that its mean does not count."""
    values = op.args()
    given = b.grouped(values["self"]), b.grouped(values["target"])
    if values.get("reduction") in (_MEAN, _SUM) and values.get("weight") is None:
        found = _of_joined(op, *given, b)
        if found is not None:
            return list(found) if len(op.results) > 1 else found[0]
    move_together(op, b)
    tensor, target = b.tensor(values["self"]), b.tensor(values["target"])
    if element_of(target.value) != i64 or tensor.rank < 2 or tensor.dynamic_dims not in ([], [0]):
        raise b.refuse(
            "takes class numbers for samples of unknown number, in the first dimension, here"
        )
    b.require_equal(b.size(tensor, 0), b.size(target, 0), "there are not as many targets")
    extent = min(tensor.shape[0], target.shape[0])
    sizes = (tensor.sizes[0] or target.sizes[0], *target.sizes[1:])
    target = Bounded(b.resized(target.value, 0, extent), sizes)
    values["self"] = b.resized(tensor.value, 0, extent)
    values["target"] = b.filled(target, values["ignore_index"])
    of_all = values.get("reduction") in (_MEAN, _SUM) and values.get("weight") is None
    if of_all and len(sizes) == 1:
        total, count = _of_samples(op.overload_name, values, target, b)
        return [total, count] if len(op.results) > 1 else total
    made: Any = b.op(op.overload_name, **values).results
    found = [
        Bounded(value, sizes if rank_of(value) == len(sizes) and n == 0 else ())
        for n, value in enumerate(made)
    ]
    return found[0] if len(found) == 1 else found


def _of_joined(
    op: SchemaOp, scores: Grouped, target: Grouped, b: BoundBuilder
) -> tuple[Bounded, Bounded] | None:
    """The loss of samples that several dimensions have been joined to, as those of a text; and how
    many count. None for others. They stand apart, as the pixels of an image do, so that what makes
    the scores is computed where these are read."""
    rows, tensor = scores.tensor, target.tensor
    if scores.groups != (len(rows.sizes) - 1, 1) or target.groups != (tensor.rank,):
        return None
    if tensor.rank < 2 or rows.sizes != (*tensor.sizes, None) or rows.shape[:-1] != tensor.shape:
        return None
    values = op.args()
    if element_of(tensor.value) != i64:
        return None
    last = tensor.rank
    values["self"] = b("permute.default", rows.value, [0, last, *range(1, last)])
    values["target"] = b.filled(tensor, values["ignore_index"])
    is_of_logs = op.overload_name.startswith("nll_loss")
    return _of_samples("nll_loss_nd.default" if is_of_logs else op.overload_name, values, tensor, b)


def _of_samples(
    name: str, values: dict[str, Any], target: Bounded, b: BoundBuilder
) -> tuple[Bounded, Bounded]:
    """The loss of all samples, and how many count, by the loss of each, whose sum ends where they
    do: that padding has no class is not seen where its number comes from another kernel.

    Half floats are summed and divided in f32."""
    each = b.op(name, **{**values, "reduction": _NONE}).results[0]
    own, wide = element_of(each), computed_in(element_of(each))
    is_counted = b("ne.Scalar", values["target"], values["ignore_index"])

    def summed(numbers: SSAValue) -> SSAValue:
        apart = b.reshape(b.converted(numbers, wide), target.shape)
        return b("sum.default", b.filled(Bounded(apart, target.sizes), 0))

    total, count = summed(each), summed(is_counted)
    if values["reduction"] == _MEAN:
        total = b("div.Tensor", total, count)
    total, count = b.converted(total, own), b.converted(count, own)
    return Bounded(total, ()), Bounded(count, ())
