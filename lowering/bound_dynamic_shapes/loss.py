"""Losses over samples of unknown number."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in, mean_over
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count
from lamina.lowering.tensor_types import element_of, rank_of

_NONE, _MEAN, _SUM = 0, 1, 2


@bounds(
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
)
def distance_loss(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A pointwise distance, then its mean or sum over samples."""
    values = op.args()
    names = [n for n in ("self", "target", "weight", "pos_weight") if values.get(n) is not None]
    tensors = aligned([b.tensor(values[name]) for name in names], b)
    given = {name: tensor.value for name, tensor in zip(names, tensors, strict=True)}
    value = b(op.overload_name, **{**values, **given, "reduction": _NONE})
    loss = Bounded(value, common_sizes(tensors))
    if values["reduction"] == _NONE:
        return loss
    dims = list(range(loss.rank))
    if values["reduction"] == _MEAN:
        return Bounded(mean_over(loss, dims, False, b), ())
    return Bounded(b("sum.default", b.filled(loss, 0)), ())


@bounds("cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss_forward")
def class_loss(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Padding is a class that the loss ignores, and that its mean does not count."""
    values = op.args()
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
        total, count = _of_samples(op.overload_name, values, sizes, b)
        return [total, count] if len(op.results) > 1 else total
    made: Any = b.op(op.overload_name, **values).results
    found = [
        Bounded(value, sizes if rank_of(value) == len(sizes) and n == 0 else ())
        for n, value in enumerate(made)
    ]
    return found[0] if len(found) == 1 else found


def _of_samples(
    name: str, values: dict[str, Any], sizes: tuple[Count, ...], b: BoundBuilder
) -> tuple[Bounded, Bounded]:
    """The loss of all samples, and how many count, by the loss of each, whose sum ends where they
    do: that padding has no class is not seen where its number comes from another kernel.

    Half floats are summed and divided in f32."""
    each = b.op(name, **{**values, "reduction": _NONE}).results[0]
    own, wide = element_of(each), computed_in(element_of(each))
    total = b("sum.default", b.filled(Bounded(b.converted(each, wide), sizes), 0))
    is_counted = b("ne.Scalar", values["target"], values["ignore_index"])
    ones = b.converted(is_counted, wide)
    count = b("sum.default", b.filled(Bounded(ones, sizes), 0))
    if values["reduction"] == _MEAN:
        total = b("div.Tensor", total, count)
    total, count = b.converted(total, own), b.converted(count, own)
    return Bounded(total, ()), Bounded(count, ())
