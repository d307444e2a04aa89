"""Reductions: padding along what is reduced is made neutral first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.standing_apart import dims_of, reduced_groups
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, ungrouped
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
    normalized_dims,
)


def least_of(element: Attribute) -> Any:
    """The least number of an element type, which a maximum leaves out."""
    return _extreme(element, greatest=False)


def greatest_of(element: Attribute) -> Any:
    """The greatest number of an element type."""
    return _extreme(element, greatest=True)


def _extreme(element: Attribute, *, greatest: bool) -> Any:
    if is_bool(element):
        return greatest
    if is_integer(element):
        width = element.width.data  # pyright: ignore
        if is_unsigned(element):
            return 2**width - 1 if greatest else 0
        return 2 ** (width - 1) - 1 if greatest else -(2 ** (width - 1))
    return float("inf") if greatest else float("-inf")


_NEUTRAL: dict[str, Callable[[Attribute], Any]] = {
    "sum": lambda element: 0,
    "nansum": lambda element: 0,
    "count_nonzero": lambda element: 0,
    "any": lambda element: 0,
    "prod": lambda element: 1,
    "all": lambda element: 1,
    "amax": least_of,
    "amin": greatest_of,
    "max": least_of,
    "min": greatest_of,
    "argmax": least_of,
    "argmin": greatest_of,
    "logsumexp": least_of,
}
"""What changes nothing, by packet and element type."""

_OVER_SEVERAL = {
    **{name: name for name in ("sum.default", "nansum.default", "count_nonzero.default")},
    **{name: name for name in ("any.default", "all.default", "prod.default")},
    **{name: name for name in ("max.default", "min.default", "amax.default", "amin.default")},
    **{name: name for name in ("sum.dim_IntList", "count_nonzero.dim_IntList")},
    **{name: name for name in ("any.dims", "all.dims", "logsumexp.default")},
    "any.dim": "any.dims",
    "all.dim": "all.dims",
}
"""The forms of reductions that take several dimensions; of others elements are moved together."""

_NEEDS_ELEMENTS = frozenset({"amax", "amin", "max", "min", "argmax", "argmin"})


def reduced_dims(op: SchemaOp, rank: int) -> list[int]:
    """The dimensions that an op reduces; all without `dim`."""
    return normalized_dims(op.args().get("dim"), rank)


def kept_sizes(tensor: Bounded, dims: Sequence[int], keepdim: bool) -> tuple[Count, ...]:
    """The sizes of a reduction's result."""
    return tuple(
        None if d in dims else size
        for d, size in enumerate(tensor.sizes)
        if keepdim or d not in dims
    )


@takes_groups
@bounds(
    "sum",
    "sum.dim_IntList",
    "nansum",
    "count_nonzero",
    "count_nonzero.dim_IntList",
    "any",
    "any.dim",
    "any.dims",
    "all",
    "all.dim",
    "all.dims",
    "prod",
    "prod.dim_int",
    "amax",
    "amin",
    "max",
    "max.dim",
    "min",
    "min.dim",
    "argmax",
    "argmin",
    "logsumexp",
)
def reduction(op: SchemaOp, b: BoundBuilder) -> Sequence[Bounded | Grouped]:
    """The op with neutral elements in the padding that it reduces."""
    name, packet = op.overload_name, op.overload_name.partition(".")[0]
    given = b.grouped(op.arg("self"))
    places = reduced_dims(op, len(given.groups))
    if any(given.groups[place] > 1 for place in places):
        name = _OVER_SEVERAL.get(name, "")
    if not name:
        move_together(op, b)
        given, name = ungrouped(b.tensor(op.arg("self"))), op.overload_name
    tensor, dims = given.tensor, dims_of(given, places)
    if is_complex(element_of(tensor.value)) and packet not in ("sum", "prod"):
        raise b.refuse("is not computed on complex numbers of unknown number")
    if packet in _NEEDS_ELEMENTS:
        _require_elements(tensor, dims, b)
    if packet.startswith("arg") and op.arg("dim") is None:
        tensor = _first_in_order(tensor, b)
        if tensor.rank == 1:
            dims = [0]
    keepdim = bool(op.args().get("keepdim", False))
    is_plain = element_of(tensor.value) in (f32, f64)
    if packet == "logsumexp" and is_plain and any(tensor.sizes[d] is not None for d in dims):
        made: Sequence[SSAValue] = [_logsumexp(tensor, dims, keepdim, b)]
    else:
        neutral = _NEUTRAL[packet](element_of(tensor.value))
        values = {**op.args(), "self": b.filled(tensor, neutral, dims)}
        if values.get("dim") not in (None, []):
            values["dim"] = (
                dims[0] if isinstance(values["dim"], int) and name == op.overload_name else dims
            )
        made = b.op(name, **values).results
    sizes = kept_sizes(tensor, dims, keepdim)
    return [reduced_groups(Bounded(value, sizes), given, places, b) for value in made]


def _logsumexp(tensor: Bounded, dims: Sequence[int], keepdim: bool, b: BoundBuilder) -> SSAValue:
    """max + log(sum(exp(x - max))), an infinite max replaced by 0.

    The exponentials are masked, not the elements: so that each sum is seen to end at what counts,
    whatever stands in its rows.
    """
    element = element_of(tensor.value)
    best = b("amax.default", b.filled(tensor, least_of(element), dims), list(dims), True)
    best = b.where(b("logical_not.default", b("isinf.default", best)), best, 0.0)
    exponentials = b("exp.default", b("sub.Tensor", tensor.value, best))
    masked = b.filled(Bounded(exponentials, tensor.sizes), 0.0, dims)
    total = b("sum.dim_IntList", masked, list(dims), True)
    made = b("add.Tensor", b("log.default", total), best)
    return made if keepdim else b("squeeze.dims", made, list(dims))


def _first_in_order(tensor: Bounded, b: BoundBuilder) -> Bounded:
    """For a place among all elements: the padding must not count in row-major order."""
    if any(dim > 0 for dim in tensor.dynamic_dims):
        raise b.refuse(
            "counts places through an inner dimension whose size depends on data",
            "the op along a dimension",
        )
    return tensor


def _require_elements(tensor: Bounded, dims: Sequence[int], b: BoundBuilder) -> None:
    for dim in dims:
        if tensor.sizes[dim] is not None:
            message = f"dimension {dim}, which it reduces, has no elements"
            b.require_least(b.size(tensor, dim), 1, message)


def computed_in(element: Attribute) -> Attribute:
    """The type in which means are computed: f32 for half floats."""
    return f32 if element in (bf16, f16) else element


def _result_element(op: SchemaOp) -> Any:
    kind: Any = op.results[0].type
    return kind.element_type


def _mean(
    tensor: Bounded, dims: Sequence[int], keepdim: bool, b: BoundBuilder
) -> tuple[SSAValue, SSAValue]:
    """The mean over elements, and how many there are."""
    element = element_of(tensor.value)
    total = b("sum.dim_IntList", b.filled(tensor, 0, dims), list(dims), keepdim)
    count = b.as_tensor(b.elements(tensor, dims), element)
    return b("div.Tensor", total, count), count


def mean_over(tensor: Bounded, dims: Sequence[int], keepdim: bool, b: BoundBuilder) -> SSAValue:
    """The mean over elements; half floats are summed and divided in f32, and come back so."""
    wide = b.converted(tensor.value, computed_in(element_of(tensor.value)))
    return _mean(Bounded(wide, tensor.sizes), dims, keepdim, b)[0]


@takes_groups
@bounds("mean", "mean.dim")
def mean(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Sum by number of elements, in the result's dtype."""
    given = b.grouped(op.arg("self"))
    tensor, places = given.tensor, reduced_dims(op, len(given.groups))
    dims = dims_of(given, places)
    keepdim = bool(op.args().get("keepdim", False))
    converted = Bounded(b.converted(tensor.value, _result_element(op)), tensor.sizes)
    made = Bounded(mean_over(converted, dims, keepdim, b), kept_sizes(tensor, dims, keepdim))
    return reduced_groups(made, given, places, b)


@takes_groups
@bounds(
    "var",
    "var.dim",
    "var.correction",
    "std",
    "std.dim",
    "std.correction",
    "var_mean",
    "var_mean.dim",
    "var_mean.correction",
    "std_mean",
    "std_mean.dim",
    "std_mean.correction",
)
def variance(op: SchemaOp, b: BoundBuilder) -> Sequence[Bounded | Grouped]:
    """The op itself along known dimensions; else sums of squared distances, in two passes.

    Distances are f64, as in torch: squares of f32 overflow and vanish where variances do not.
    """
    given = b.grouped(op.arg("self"))
    places = reduced_dims(op, len(given.groups))
    found = _variance(op, given.tensor, dims_of(given, places), b)
    return [reduced_groups(made, given, places, b) for made in found]


def _variance(op: SchemaOp, tensor: Bounded, dims: list[int], b: BoundBuilder) -> list[Bounded]:
    if not is_float(element_of(tensor.value)):
        raise b.refuse("is computed on real floats only")
    values = op.args()
    keepdim = bool(values.get("keepdim", False))
    sizes = kept_sizes(tensor, dims, keepdim)
    if all(tensor.sizes[dim] is None for dim in dims):
        if values.get("dim") not in (None, []):
            values["dim"] = dims
        made = b.op(op.overload_name, **{**values, "self": tensor.value}).results
        return [Bounded(value, sizes) for value in made]
    correction = values.get("correction", 1 if values.get("unbiased", True) else 0)
    element = _result_element(op)
    wide = Bounded(b.converted(tensor.value, computed_in(element)), tensor.sizes)
    center, _ = _mean(wide, dims, True, b)
    distance = b("sub.Tensor", b.converted(wide.value, f64), b.converted(center, f64))
    count = b.as_tensor(b.elements(tensor, dims), f64)
    total = _squared(Bounded(distance, tensor.sizes), dims, keepdim, count, b)
    freedom = b(
        "clamp_min.default", b("sub.Scalar", count, 1 if correction is None else correction), 0
    )
    spread = b("div.Tensor", total, freedom)
    packet = op.overload_name.partition(".")[0]
    if packet.startswith("std"):
        spread = b("sqrt.default", spread)
    spread = b.converted(spread, element)
    if not packet.endswith("mean"):
        return [Bounded(spread, sizes)]
    if not keepdim:
        kept = [e for d, e in enumerate(tensor.shape) if d not in dims]
        center = b.reshape(center, kept)
    return [Bounded(spread, sizes), Bounded(b.converted(center, element), sizes)]


def _squared(
    distance: Bounded, dims: list[int], keepdim: bool, count: SSAValue, b: BoundBuilder
) -> SSAValue:
    """The sum of squared distances from what the distances are on average.

    The mean that they are from is rounded; their sum says by how much.
    """
    squares = Bounded(b("mul.Tensor", distance.value, distance.value), distance.sizes)
    total = b("sum.dim_IntList", b.filled(squares, 0, dims), dims, keepdim)
    rest = b("sum.dim_IntList", b.filled(distance, 0, dims), dims, keepdim)
    share = b("mul.Tensor", rest, b("div.Tensor", rest, b("clamp_min.default", count, 1)))
    left = b("clamp_min.default", b("sub.Tensor", total, share), 0)
    return b.where(b("eq.Scalar", total, inf), total, left)  # then the share may have none, too


@takes_groups
@bounds("linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar")
def norm(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """A norm of positive order, to which zeros add nothing."""
    given = b.grouped(op.arg("self"))
    tensor, values = given.tensor, op.args()
    order = values.get("ord", values.get("p"))
    order = 2 if order is None else order
    if not isinstance(order, int | float) or order < 0:
        raise b.refuse(f"the order {order} is not computed over a size that depends on data")
    places = reduced_dims(op, len(given.groups))
    dims = dims_of(given, places)
    if values.get("dim") not in (None, []):
        values["dim"] = dims
    made = b(op.overload_name, **{**values, "self": b.filled(tensor, 0, dims)})
    found = Bounded(made, kept_sizes(tensor, dims, bool(values.get("keepdim", False))))
    return reduced_groups(found, given, places, b)
