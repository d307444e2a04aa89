"""Ops on rows: those whose dimensions are static do not see padding in the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.reduction import least_of
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups, row_of
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped
from lamina.lowering.tensor_types import element_of, normalized


@takes_groups
@bounds("softmax.int", "_softmax", "_safe_softmax", "log_softmax.int", "_log_softmax")
def softmax(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Padding along the dimension counts as minus infinity."""
    values = op.args()
    joined = _softmax_of_joined(op, b)
    if joined is not None:
        return joined
    given, dim = row_of(op, values["self"], values["dim"], b)
    tensor = given.tensor
    values["self"] = b.filled(tensor, least_of(element_of(tensor.value)), [dim])
    values["dim"] = dim
    return in_groups(Bounded(b(op.overload_name, **values), tensor.sizes), given.groups)


def _softmax_of_joined(op: SchemaOp, b: BoundBuilder) -> Grouped | None:
    """Over a group of several dimensions, of f32 or f64: by its maximum and its sum, which loops
    over each of them make. None for others."""
    values = op.args()
    given, rank = b.grouped(values["self"]), len(b.grouped(values["self"]).groups)
    tensor, place = given.tensor, normalized(values["dim"], rank) if rank else 0
    packet = op.overload_name.partition(".")[0]
    result: Any = op.results[0].type
    is_plain = element_of(tensor.value) == result.element_type and result.element_type in (f32, f64)
    if not rank or given.groups[place] == 1 or not is_plain or packet == "_safe_softmax":
        return None
    dims = list(given.dims[place])
    value = b.filled(tensor, least_of(result.element_type), dims)
    less = b("sub.Tensor", value, b("amax.default", value, dims, True))
    exponentials = b("exp.default", less)
    total = b("sum.dim_IntList", exponentials, dims, True)
    if "log" in packet:
        made = b("sub.Tensor", less, b("log.default", total))
    else:
        made = b("div.Tensor", exponentials, total)
    return Grouped(Bounded(made, tensor.sizes), given.groups)


@takes_groups
@bounds("layer_norm", "native_layer_norm", "rms_norm")
def layer_norm(op: SchemaOp, b: BoundBuilder) -> Sequence[Bounded | Grouped]:
    """Rows of static length, any number of them."""
    values = op.args()
    inner = len(values["normalized_shape"])
    given = b.grouped(values["input"])
    if {*given.groups[len(given.groups) - inner :]} != {1}:
        raise b.refuse("rows whose length depends on data")
    tensor = given.tensor
    if any(dim >= tensor.rank - inner for dim in tensor.dynamic_dims):
        raise b.refuse("rows whose length depends on data")
    values["input"] = tensor.value
    made: Any = b.op(op.overload_name, **values).results
    return [
        in_groups(
            Bounded(value, tensor.sizes if n == 0 else _row_sizes(tensor, inner)), given.groups
        )
        for n, value in enumerate(made)
    ]


def _row_sizes(tensor: Bounded, inner: int) -> tuple[Any, ...]:
    return (*tensor.sizes[: tensor.rank - inner], *([None] * inner))


@bounds("tril", "triu")
def triangle(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """What stays depends on places alone, which padding has too."""
    values = op.args()
    tensor = b.tensor(values["self"])
    return Bounded(b(op.overload_name, **{**values, "self": tensor.value}), tensor.sizes)


@takes_groups
@bounds("one_hot")
def one_hot(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """A row for each number; padding is made 0 so that it is a class."""
    given = b.grouped(op.arg("self"))
    tensor = given.tensor
    classes = op.arg("num_classes")
    if not isinstance(classes, int) or classes < 0:
        raise b.refuse("the number of classes depends on data", "num_classes")
    value = b("one_hot.default", b.filled(tensor, 0), classes)
    return in_groups(Bounded(value, (*tensor.sizes, None)), (*given.groups, 1))
