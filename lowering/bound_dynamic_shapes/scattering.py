"""Writes of a part along one dimension, as torch makes of those in place; gradients of parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import shape_of_numbers
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, aligned_at
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import element_of, normalized


@bounds("select_scatter")
def select_scatter(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """One position, which may be counted from the end of what counts."""
    return _position_written(op.args(), b.tensor(op.arg("self")), b.tensor(op.arg("src")), b)


@bounds("select_backward")
def select_backward(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The gradient at one position of zeros."""
    gradient = b.tensor(op.arg("grad_output"))
    return _position_written(op.args(), _zeros(op, gradient, b), gradient, b)


def _position_written(
    arguments: Mapping[str, Any], tensor: Bounded, source: Bounded, b: BoundBuilder
) -> Bounded:
    dim = normalized(arguments["dim"], tensor.rank)
    index = b.number(arguments["index"])
    shape = [*source.shape[:dim], 1, *source.shape[dim:]]
    sizes = (*source.sizes[:dim], None, *source.sizes[dim:])
    written = b.converted(b.reshape(source.value, shape), element_of(tensor.value))
    tensor, part = aligned([tensor, Bounded(written, sizes)], b)
    place = b.as_tensor(index)
    if index.constant is None or index.constant < 0:
        from_end = b("add.Tensor", place, b.as_tensor(b.size(tensor, dim)))
        place = b.where(b("lt.Scalar", place, 0), from_end, place)
    is_there = b("eq.Tensor", b.iota(tensor.shape[dim]), place)
    mask = b.reshape(is_there, [-1 if d == dim else 1 for d in range(tensor.rank)])
    return Bounded(b.where(mask, part.value, tensor.value), tensor.sizes)


@bounds("slice_scatter")
def slice_scatter(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A slice; of a dimension with padding as a choice by position."""
    return _slice_written(op.args(), b.tensor(op.arg("self")), b.tensor(op.arg("src")), b)


@bounds("slice_backward")
def slice_backward(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The gradient in a slice of zeros."""
    gradient = b.tensor(op.arg("grad_output"))
    return _slice_written(op.args(), _zeros(op, gradient, b), gradient, b)


@bounds("diagonal_backward")
def diagonal_backward(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The gradient on a diagonal of zeros: its places are rows, or columns if those are ahead."""
    gradient, zeros = (
        b.tensor(op.arg("grad_output")),
        _zeros(op, b.tensor(op.arg("grad_output")), b),
    )
    rows, columns = (normalized(op.arg(name), zeros.rank) for name in ("dim1", "dim2"))
    offset = op.arg("offset")
    along, across = (rows, columns) if offset >= 0 else (columns, rows)
    value = b("movedim.int", gradient.value, -1, along - (along > across))
    value = b("unsqueeze.default", value, across)
    for dim in range(zeros.rank):
        if dim != across:
            value = b.resized(value, dim, zeros.shape[dim])
    row, column = (b.along(b.iota(zeros.shape[d]), d, zeros.rank) for d in (rows, columns))
    on_it = b("eq.Scalar", b("sub.Tensor", column, row), offset)
    return Bounded(b.where(on_it, value, zeros.value), zeros.sizes)


def _zeros(op: SchemaOp, gradient: Bounded, b: BoundBuilder) -> Bounded:
    shape, sizes = shape_of_numbers(op.arg("input_sizes"), b)
    return b.bounded(b.full(shape, 0, element_of(gradient.value)), sizes)


def _slice_written(
    arguments: Mapping[str, Any], tensor: Bounded, source: Bounded, b: BoundBuilder
) -> Bounded:
    """`tensor` with `source` in a slice of it.

    One that is known to have all positions, as that of a slice along another dimension which is
    written to, takes the place of the tensor.
    """
    dim, step = normalized(arguments["dim"], tensor.rank), arguments["step"]
    for other in range(tensor.rank):
        if other != dim:
            tensor, source = aligned_at(other, [tensor, source], b)
    start, end = b.number(arguments["start"] or 0), arguments["end"]
    ends = [start, b.size(tensor, dim) if end is None else b.number(end)]
    if tensor.sizes[dim] is None and all(e.constant is not None for e in ends):
        part = slice(arguments["start"], end, step)
        source = b.static_size(source, dim, len(range(tensor.shape[dim])[part]))
        value = b(
            "slice_scatter.default", tensor.value, source.value, dim, part.start, part.stop, step
        )
        return Bounded(value, tensor.sizes)
    if step == 1 and source.sizes[dim] is not None and _is_all(ends, tensor, dim):
        tensor, source = aligned_at(dim, [tensor, source], b)
        if source.shape == tensor.shape:
            return Bounded(b.converted(source.value, element_of(tensor.value)), tensor.sizes)
    first, last = (_within(e, b.size(tensor, dim), b) for e in ends)
    places = b.iota(tensor.shape[dim])
    written = b("logical_and.default", b("ge.Tensor", places, first), b("lt.Tensor", places, last))
    if not source.shape[dim]:
        return tensor
    read = b("sub.Tensor", places, first)
    if step != 1:
        at_a_step = b("eq.Scalar", b("remainder.Scalar", read, step), 0)
        written = b("logical_and.default", written, at_a_step)
        read = b("floor_divide.Scalar", read, step)
    read = b("clamp.default", read, 0, source.shape[dim] - 1)
    part = b("index_select.default", source.value, dim, read)
    mask = b.reshape(written, [-1 if d == dim else 1 for d in range(tensor.rank)])
    return Bounded(b.where(mask, part, tensor.value), tensor.sizes)


def _is_all(ends: list[Number], tensor: Bounded, dim: int) -> bool:
    """Whether a slice in steps of one is known to have all that counts along a dimension."""
    start, end = ends
    last = end.constant is not None and end.constant >= tensor.shape[dim]
    return start.constant == 0 and (last or end.value is tensor.sizes[dim])


def _within(place: Number, size: Number, b: BoundBuilder) -> SSAValue:
    """A place among those that count: from the end if it is negative, at most there."""
    count, found = b.as_tensor(size), b.as_tensor(place)
    if place.constant is None or place.constant < 0:
        from_end = b("clamp_min.default", b("add.Tensor", found, count), 0)
        found = b.where(b("lt.Scalar", found, 0), from_end, found)
    return b("minimum.default", found, count)
