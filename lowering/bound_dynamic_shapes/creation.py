"""Tensors made of nothing, with sizes that depend on data."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size, shape_of_numbers
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded


@bounds("zeros", "ones", "full", "empty.memory_format", "rand", "randn")
def filled(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A constant up to the bound."""
    values = op.args()
    if "fill_value" in values and not isinstance(values["fill_value"], int | float | complex):
        return _full(op, values, b)
    shape, sizes = shape_of_numbers(values["size"], b)
    values["size"] = shape
    return b.bounded(b(op.overload_name, **values), sizes)


def _full(op: SchemaOp, values: dict[str, Any], b: BoundBuilder) -> Bounded:
    """A number known at run time, repeated."""
    shape, sizes = shape_of_numbers(values["size"], b)
    kind: Any = op.results[0].type
    number = b.as_tensor(b.number(values["fill_value"]), kind.element_type)
    return b.bounded(b.expand(number, shape), sizes)


@bounds("new_zeros", "new_ones", "new_full", "new_empty")
def new_filled(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """As above, with the dtype of another tensor."""
    values = op.args()
    shape, sizes = shape_of_numbers(values["size"], b)
    values.update(size=shape, self=b.tensor(values["self"]).value)
    return b.bounded(b(op.overload_name, **values), sizes)


@bounds("arange", "arange.start", "arange.start_step")
def arange(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Integers up to a size; start and step may be constants only."""
    values = op.args()
    kind: Any = op.results[0].type
    start, step = values.get("start", 0), values.get("step", 1)
    if not isinstance(start, int) or not isinstance(step, int) or step < 1:
        raise b.refuse("only the end of a range may depend on data, in steps of a positive integer")
    end = as_size(b.number(values["end"]), b)
    if start or step != 1:
        most = max(-(-((end.most or 0) - start) // step), 0)
        beyond = b("add.Scalar", b.as_tensor(end), step - 1 - start)
        count = b("clamp_min.default", b("floor_divide.Scalar", beyond, step), 0)
        numbers = b("arange.start_step", start, start + step * most, step, dtype=i64)
        return b.bounded(b.converted(numbers, kind.element_type), [count])
    numbers = b.iota(end.most or 0)
    return b.bounded(b.converted(numbers, kind.element_type), [end])


@bounds("eye", "eye.m")
def eye(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The identity of the bounds; its rows and columns may differ."""
    values, kind = op.args(), op.results[0].type
    shape, sizes = shape_of_numbers([values["n"], values.get("m", values["n"])], b)
    made = b("eye.m", *shape, dtype=kind.element_type)  # pyright: ignore
    return b.bounded(made, sizes)


@bounds("scalar_tensor", "tensor")
def scalar_tensor(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A number as a 0-d tensor."""
    kind: Any = op.results[0].type
    return Bounded(b.as_tensor(b.number(op.arg("s")), kind.element_type), ())
