"""Sorts and running sums: padding is put behind all elements."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.reduction import greatest_of, least_of
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.tensor_types import element_of, is_float, normalized


def behind(tensor: Bounded, dim: int, descending: bool, b: BoundBuilder) -> SSAValue:
    """Padding that a stable sort leaves at the end: it stands behind equal elements already.

    NaN is the largest float, as the sort has it.
    """
    element = element_of(tensor.value)
    if descending:
        last = least_of(element)
    else:
        last = float("nan") if is_float(element) else greatest_of(element)
    return b.filled(tensor, last, [dim])


@bounds("sort", "sort.stable", "argsort", "argsort.stable", "msort")
def sort(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Rows in order."""
    values = op.args()
    tensor = b.tensor(values["self"])
    if not tensor.rank:
        made = b.op(op.overload_name, **{**values, "self": tensor.value}).results
    else:
        dim = normalized(values.get("dim", 0), tensor.rank)
        value = behind(tensor, dim, bool(values.get("descending", False)), b)
        made = b.op(op.overload_name, **{**values, "self": value}).results
    found = [Bounded(value, tensor.sizes) for value in made]
    return found[0] if len(found) == 1 else found


@bounds("topk")
def topk(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """The first entries in order; there must be as many."""
    values = op.args()
    tensor = b.tensor(values["self"])
    dim = normalized(values["dim"], tensor.rank)
    k = b.number(values["k"]).constant
    if k is None:
        raise b.refuse("k depends on data", "a constant k")
    extent = tensor.shape[dim]
    if tensor.sizes[dim] is not None:
        b.require_least(b.size(tensor, dim), k, f"there are fewer than k = {k} elements")
    value = behind(tensor, dim, bool(values["largest"]), b)
    value = b.resized(value, dim, max(extent, k))
    made = b.op("topk.default", value, k, dim, values["largest"], values["sorted"]).results
    sizes = (*tensor.sizes[:dim], None, *tensor.sizes[dim + 1 :])
    return [Bounded(result, sizes) for result in made]


@bounds("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
def cumulative(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """Padding comes last, so that no running value of an element sees it."""
    values = op.args()
    tensor = b.tensor(values["self"])
    made: Any = b.op(op.overload_name, **{**values, "self": tensor.value}).results
    found = [Bounded(value, tensor.sizes) for value in made]
    return found[0] if len(found) == 1 else found


@bounds("flip")
def flip(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The order reversed: elements are read from their end."""
    tensor = b.tensor(op.arg("self"))
    for dim in op.arg("dims"):
        dim = normalized(dim, tensor.rank)
        count = tensor.sizes[dim]
        if count is None:
            tensor = Bounded(b("flip.default", tensor.value, [dim]), tensor.sizes)
            continue
        extent = tensor.shape[dim]
        if not extent:
            continue
        places = b("sub.Tensor", b("sub.Scalar", count, 1), b.iota(extent))
        places = b("clamp.default", places, 0, extent - 1)
        value = b("index.Tensor", tensor.value, [*([None] * dim), places])
        tensor = Bounded(value, tensor.sizes)
    return tensor
