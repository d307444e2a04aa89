"""Pooling to so many outputs: parts of an image of open size, computed when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded, spatial_dims
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in, least_of
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.tensor_types import element_of, is_float, shape_of


@record
class Parts:
    """A dimension in so many parts: where each begins, and how many elements it has; where these
    stand, and which of as many as the longest part has are elements of it."""

    dim: int
    starts: SSAValue
    places: SSAValue
    inside: SSAValue
    counts: SSAValue

    @property
    def shape(self) -> list[int]:
        """How many parts, and how many elements of each."""
        return shape_of(self.places)


_ADAPTIVE = (
    *(f"adaptive_avg_pool{rank}d" for rank in (1, 2, 3)),
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
)


@bounds(*_ADAPTIVE)
def adaptive_avg_pool(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Means of parts, each of which begins and ends where its share of the image does."""
    image, dims = only_first_padded(op, b), spatial_dims(op)
    outputs = _outputs(op, dims, b)
    if all(image.is_known(dim) for dim in dims):
        return Bounded(b(op.overload_name, **{**op.args(), "self": image.value}), image.sizes)
    element = element_of(image.value)
    if not is_float(element):
        raise b.refuse("means of integers whose number depends on data", "floats")
    value = b.converted(image.value, computed_in(element))
    for dim, parts in zip(dims, outputs, strict=True):
        found = _parts(image, dim, parts, b)
        value = _taken(value, found, dim, 0, b)
        value = b("sum.dim_IntList", value, [dim + 1])
        counts = b.converted(found.counts, element_of(value))
        value = b("div.Tensor", value, b.along(counts, dim, image.rank))
    return _without(image, value, dims)


@bounds(*(f"adaptive_max_pool{rank}d" for rank in (1, 2, 3)))
def adaptive_max_pool(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """The largest of each part, and where it stands in the image."""
    image, dims = only_first_padded(op, b), spatial_dims(op)
    outputs = _outputs(op, dims, b)
    if all(image.is_known(dim) for dim in dims):
        made: Any = b.op(op.overload_name, **{**op.args(), "self": image.value}).results
        return [Bounded(value, image.sizes) for value in made]
    parts = [_parts(image, d, n, b) for d, n in zip(dims, outputs, strict=True)]
    value, least = image.value, least_of(element_of(image.value))
    for place, found in enumerate(parts):
        value = _taken(value, found, dims[place] + place, least, b)
    # Parts in front, their elements behind.
    first, count = dims[0], len(dims)
    order = [*range(first), *(first + 2 * n for n in range(count))]
    order += [first + 2 * n + 1 for n in range(count)]
    value = b("permute.default", value, order)
    kept = shape_of(value)[: first + count]
    value = b.reshape(value, [*kept, -1])
    largest: Any = b.op("max.dim", value, -1).results
    index, place, scale = largest[1], None, None
    for found in reversed(parts):
        dim = found.dim
        own = b("remainder.Scalar", index, found.shape[1])
        index = b("div.Scalar_mode", index, found.shape[1], rounding_mode="floor")
        own = b("add.Tensor", own, b.along(found.starts, dim, len(kept)))
        own = own if scale is None else b("mul.Tensor", own, scale)
        place = own if place is None else b("add.Tensor", place, own)
        size = b.as_tensor(b.size(image, dim))
        scale = size if scale is None else b("mul.Tensor", scale, size)
    assert place is not None
    return [_without(image, largest[0], dims), _without(image, place, dims)]


def _outputs(op: SchemaOp, dims: Sequence[int], b: BoundBuilder) -> list[int]:
    outputs = repeat_to(op.arg("output_size"), len(dims), "output_size")
    if not all(isinstance(extent, int) for extent in outputs):
        raise b.refuse("a number of parts that depends on data", "a constant output_size")
    return list(outputs)


def _parts(image: Bounded, dim: int, parts: int, b: BoundBuilder) -> Parts:
    """Part n begins at `n * size // parts` and ends where the next begins, rounded up."""
    size, bound = b.size(image, dim), image.shape[dim]
    b.require_least(size, 1, f"dimension {dim} has no elements")
    numbers, count = b.iota(parts), b.as_tensor(size)
    start = b("mul.Tensor", numbers, count)
    end = b("add.Scalar", b("add.Tensor", start, count), parts - 1)
    start, end = (
        b("div.Scalar_mode", edge, max(parts, 1), rounding_mode="floor") for edge in (start, end)
    )
    longest = min(-(-bound // max(parts, 1)) + 1, bound)
    column = [parts, 1]
    places = b("add.Tensor", b.reshape(start, column), b.iota(longest))
    inside = b("lt.Tensor", places, b.reshape(end, column))
    counts = b("clamp_min.default", b("sub.Tensor", end, start), 1)
    return Parts(dim, start, b("clamp.default", places, 0, max(bound - 1, 0)), inside, counts)


def _taken(value: SSAValue, parts: Parts, dim: int, other: Any, b: BoundBuilder) -> SSAValue:
    """A dimension as parts and elements; `other` stands where a part has none."""
    shape, wide = shape_of(value), parts.shape
    flat = b.reshape(parts.places, [wide[0] * wide[1]])
    made = b("index_select.default", value, dim, flat)
    made = b.reshape(made, [*shape[:dim], *wide, *shape[dim + 1 :]])
    inside = b.reshape(parts.inside, [*wide, *([1] * (len(shape) - dim - 1))])
    return b.where(inside, made, other)


def _without(image: Bounded, value: SSAValue, dims: Sequence[int]) -> Bounded:
    """`value`, whose dimensions `dims` are known."""
    sizes = (None if dim in dims else size for dim, size in enumerate(image.sizes))
    return Bounded(value, tuple(sizes))
