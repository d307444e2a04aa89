"""Sorts and running sums: padding is put behind all elements."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.reduction import greatest_of, least_of
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups, row_of
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, Number
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


@takes_groups
@bounds("topk")
def topk(op: SchemaOp, b: BoundBuilder) -> list[Bounded | Grouped]:
    """The first entries in order, of which data may say how many; there must be as many."""
    values = op.args()
    given, dim = row_of(op, values["self"], values["dim"], b)
    tensor = given.tensor
    if not tensor.rank:
        raise b.refuse("k of a tensor without dimensions depends on data", "a constant k")
    extent, size = tensor.shape[dim], b.size(tensor, dim)
    k = as_size(b.number(values["k"]), b, extent)
    value = behind(tensor, dim, bool(values["largest"]), b)
    most = k.constant
    if most is None:
        most = min(k.most or 0, extent)
        fits = b("le.Tensor", b.as_tensor(k), b.as_tensor(size))
        b.require(fits, f"{b.place}k is more than dimension {dim} has elements")
    elif tensor.sizes[dim] is not None:
        b.require_least(size, most, f"there are fewer than k = {most} elements")
    value = b.resized(value, dim, max(extent, most))
    is_sorted = values["sorted"] or k.constant is None
    made = b.op("topk.default", value, most, dim, values["largest"], is_sorted).results
    sizes: list[Number | Count] = list(tensor.sizes)
    sizes[dim] = k
    return [in_groups(b.bounded(result, sizes), given.groups) for result in made]


@takes_groups
@bounds("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
def cumulative(op: SchemaOp, b: BoundBuilder) -> list[Bounded | Grouped]:
    """Padding comes last, so that no running value of an element sees it."""
    values = op.args()
    given, dim = row_of(op, values["self"], values["dim"], b)
    tensor = given.tensor
    made: Any = b.op(op.overload_name, **{**values, "self": tensor.value, "dim": dim}).results
    return [in_groups(Bounded(value, tensor.sizes), given.groups) for value in made]


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


@bounds("median", "nanmedian", "median.dim", "nanmedian.dim")
def median(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """The lower one of the elements in the middle; a NaN is the median unless it is left out."""
    tensor, values = b.tensor(op.arg("self")), op.args()
    element = element_of(tensor.value)
    if "dim" not in values or not tensor.rank:
        every = b.filled(tensor, float("nan") if is_float(element) else greatest_of(element))
        tensor = b.bounded(b.reshape(every, [-1]), [b.elements(tensor)])
    dim = normalized(values.get("dim", 0), tensor.rank)
    if not tensor.shape[dim]:
        raise b.refuse("has no elements to choose from")
    if "dim" in values:
        b.require_least(b.size(tensor, dim), 1, f"dimension {dim} has no elements")
    rows, order = b.op("sort.default", behind(tensor, dim, False, b), dim, False).results
    place = _middle(op, Bounded(rows, tensor.sizes), dim, b)
    found = [b("gather.default", each, dim, place) for each in (rows, order)]
    sizes = tensor.sizes[:dim] + tensor.sizes[dim + 1 :]
    if values.get("keepdim") and len(op.operands[0].type.get_shape()):  # pyright: ignore
        sizes = (*tensor.sizes[:dim], None, *tensor.sizes[dim + 1 :])
    else:
        found = [b("squeeze.dim", each, dim) for each in found]
    if "dim" in values:
        return [Bounded(each, sizes) for each in found]
    if not is_float(element):  # of no integers torch says the least
        none = b("eq.Scalar", b.as_tensor(b.size(tensor, 0)), 0)
        found[0] = b.where(b("logical_not.default", none), found[0], least_of(element))
    return Bounded(found[0], ())


def _middle(op: SchemaOp, rows: Bounded, dim: int, b: BoundBuilder) -> SSAValue:
    """Where medians stand in sorted rows, along a dimension that stays as one place."""
    shape = [1 if d == dim else extent for d, extent in enumerate(rows.shape)]
    count = b.expand(b.reshape(b.as_tensor(b.size(rows, dim)), [1] * rows.rank), shape)
    numbers = count
    if is_float(element_of(rows.value)):
        number = b("logical_not.default", b("isnan.default", rows.value))
        numbers = b("sum.dim_IntList", number, [dim], True, dtype=i64)  # padding is NaN
    leaves_out = op.overload_name.startswith("nan")
    half = b("sub.Scalar", numbers if leaves_out else count, 1)
    half = b("clamp_min.default", b("floor_divide.Scalar", half, 2), 0)
    if leaves_out:
        return half
    return b.where(b("lt.Tensor", numbers, count), numbers, half)  # the first NaN
