"""Writes of a part along one dimension, as torch makes of those in place."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, aligned_at
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import element_of, normalized


@bounds("select_scatter")
def select_scatter(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """One position, which may be counted from the end of what counts."""
    tensor, source = b.tensor(op.arg("self")), b.tensor(op.arg("src"))
    dim = normalized(op.arg("dim"), tensor.rank)
    index = b.number(op.arg("index"))
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
    """A slice; of a dimension with padding in steps of one, as a choice by position."""
    arguments = op.args()
    tensor, source = b.tensor(arguments["self"]), b.tensor(arguments["src"])
    dim = normalized(arguments["dim"], tensor.rank)
    for other in range(tensor.rank):
        if other != dim:
            tensor, source = aligned_at(other, [tensor, source], b)
    start, end = b.number(arguments["start"] or 0), arguments["end"]
    ends = [start, b.size(tensor, dim) if end is None else b.number(end)]
    if tensor.sizes[dim] is None and all(end.constant is not None for end in ends):
        source = b.static_size(source, dim, _length(op, tensor.shape[dim]))
        arguments.update(self=tensor.value, src=source.value)
        return Bounded(b(op.overload_name, **arguments), tensor.sizes)
    if arguments["step"] != 1:
        raise b.refuse("writes in steps along a dimension whose size depends on data")
    first, last = (_within(end, b.size(tensor, dim), b) for end in ends)
    places = b.iota(tensor.shape[dim])
    written = b("logical_and.default", b("ge.Tensor", places, first), b("lt.Tensor", places, last))
    if not source.shape[dim]:
        return tensor
    read = b("clamp.default", b("sub.Tensor", places, first), 0, source.shape[dim] - 1)
    part = b("index_select.default", source.value, dim, read)
    mask = b.reshape(written, [-1 if d == dim else 1 for d in range(tensor.rank)])
    return Bounded(b.where(mask, part, tensor.value), tensor.sizes)


def _length(op: SchemaOp, extent: int) -> int:
    """Positions of a slice of a static dimension."""
    arguments = op.args()
    return len(range(extent)[slice(arguments["start"], arguments["end"], arguments["step"])])


def _within(place: Number, size: Number, b: BoundBuilder) -> SSAValue:
    """A place among those that count: from the end if it is negative, at most there."""
    count, found = b.as_tensor(size), b.as_tensor(place)
    if place.constant is None or place.constant < 0:
        from_end = b("clamp_min.default", b("add.Tensor", found, count), 0)
        found = b.where(b("lt.Scalar", found, 0), from_end, found)
    return b("minimum.default", found, count)
