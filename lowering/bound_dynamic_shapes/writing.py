"""Writing at computed places: what stands in the padding goes to a place of its own, cut off."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.compaction import compaction, flattened
from lamina.lowering.bound_dynamic_shapes.indexing import aligned_indices, index_vectors, is_mask
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.selecting import truth
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count
from lamina.lowering.tensor_types import element_of, normalized, shape_of


def _writable(
    index: Bounded, tensor: Bounded, dim: int, b: BoundBuilder, *, wraps: bool = True
) -> SSAValue:
    return writable(index, tensor.shape[dim], tensor.sizes[dim], b, wraps=wraps)


def writable(
    index: Bounded, extent: int, count: Count, b: BoundBuilder, *, wraps: bool = True
) -> SSAValue:
    """Places in a dimension that has one more position: the last one takes what is padding.

    `count` of the `extent` others are elements. Negative places count from where these end if the
    op `wraps`. Places outside of these become a place that the check at run time refuses.
    """
    end = b.constant(extent) if count is None else count
    value = b.converted(index.value, i64)
    if wraps:
        value = b.where(b("lt.Scalar", value, 0), b("add.Tensor", value, end), value)
    outside = b("logical_or.default", b("lt.Scalar", value, 0), b("ge.Tensor", value, end))
    value = b("masked_fill.Scalar", value, outside, extent + 1)
    return b.filled(Bounded(value, index.sizes), extent)


def _with_room(tensor: Bounded, dim: int, b: BoundBuilder) -> SSAValue:
    return b.resized(tensor.value, dim, tensor.shape[dim] + 1)


@bounds("index_put", "_unsafe_index_put")
def index_put(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Values put or added at places, or where masks hold."""
    tensor, values = b.tensor(op.arg("self")), b.tensor(op.arg("values"))
    given = op.arg("indices")
    accumulate = op.arg("accumulate")
    first = given[0]
    if len(given) == 1 and first is not None and is_mask(first):
        mask = b.tensor(first)
        chosen = values.rank == 1 and not values.is_static and not accumulate
        if chosen and mask.shape == tensor.shape:
            return _put_where(tensor, mask, values, b)
    indices = aligned_indices(index_vectors(tensor, given, b), b)
    places = [dim for dim, index in enumerate(indices) if index is not None]
    common = [index for index in indices if index is not None]
    sizes = common_sizes(common)
    shape = b.broadcast(*(index.shape for index in common))
    if all(size is None for size in sizes):
        raise b.refuse("values of unknown number at places of a known one")
    if places != list(range(len(places))):
        order = [*places, *(dim for dim in range(tensor.rank) if dim not in places)]
        front = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
        moved = _with_indexed_first(values, front, len(shape), tensor.rank - len(places), b)
        made = _put_at(_permuted(tensor, order, b), common, moved, accumulate, b)
        return _permuted(made, [order.index(dim) for dim in range(tensor.rank)], b)
    return _put_at(tensor, common, values, accumulate, b)


def _permuted(tensor: Bounded, order: list[int], b: BoundBuilder) -> Bounded:
    value = b("permute.default", tensor.value, order)
    return Bounded(value, tuple(tensor.sizes[dim] for dim in order))


def _with_indexed_first(
    values: Bounded, front: int, indexed: int, rest: int, b: BoundBuilder
) -> Bounded:
    """Values whose dimensions for the places stand behind `front` others, with those in front."""
    missing = indexed + rest - values.rank
    if missing < 0:
        raise b.refuse("values of more dimensions than there are places")
    value = b.reshape(values.value, [*([1] * missing), *values.shape])
    whole = Bounded(value, (*([None] * missing), *values.sizes))
    places = list(range(front, front + indexed))
    others = [dim for dim in range(whole.rank) if dim not in places]
    return _permuted(whole, [*places, *others], b)


def _put_at(
    tensor: Bounded, indices: list[Bounded], values: Bounded, accumulate: bool, b: BoundBuilder
) -> Bounded:
    """Values put at places in the first dimensions."""
    places = list(range(len(indices)))
    sizes = common_sizes(indices)
    shape = b.broadcast(*(index.shape for index in indices))
    _check_sizes(values, Bounded(indices[0].value, sizes), tensor, len(places), b)
    dim = 0
    made: list[SSAValue | None] = list[SSAValue | None](None for _ in indices)
    for place in places:
        wide = Bounded(b.expand(indices[place].value, shape), sizes)
        made[place] = (
            _writable(wide, tensor, place, b) if place == dim else _harmless(wide, tensor, place, b)
        )
    room = _with_room(tensor, dim, b)
    fitting = _cut_values(values, [*shape, *tensor.shape[len(places) :]], b)
    value = b("index_put.default", room, made, fitting, accumulate)
    return Bounded(b.slice(value, dim, 0, tensor.shape[dim]), tensor.sizes)


def _harmless(index: Bounded, tensor: Bounded, dim: int, b: BoundBuilder) -> SSAValue:
    from lamina.lowering.bound_dynamic_shapes.indexing import in_range

    return in_range(index, tensor, dim, b).value


def _check_sizes(
    values: Bounded, index: Bounded, tensor: Bounded, indexed: int, b: BoundBuilder
) -> None:
    """Values must be as many as places, or one for all."""
    rest = tensor.rank - indexed
    for back in range(1, values.rank + 1):
        place = index.rank + rest - back
        count = values.sizes[values.rank - back]
        wanted = index.sizes[place] if 0 <= place < index.rank else None
        if count is None:
            extent = values.shape[values.rank - back]
            if wanted is not None and extent != 1:
                b.require(b("eq.Scalar", wanted, extent), f"{b.place}values are {extent}")
        elif wanted is None:
            raise b.refuse("values of unknown number along a dimension of known size")
        elif wanted is not count:
            message = "there are not as many values as places"
            b.require(b("eq.Tensor", count, wanted), b.place + message)


def _cut_values(values: Bounded, shape: list[int], b: BoundBuilder) -> SSAValue:
    """Values with the padding of what they are put into: zeros are added, or padding is cut."""
    value = values.value
    own = shape_of(value)
    for dim, extent in enumerate(own):
        target = shape[dim + len(shape) - len(own)]
        if extent != target and (extent != 1 or values.sizes[dim] is not None):
            value = b.resized(value, dim, target)
    return value


def _put_where(tensor: Bounded, mask: Bounded, values: Bounded, b: BoundBuilder) -> Bounded:
    """`x[mask] = v`: each chosen element reads its place in `v`."""
    tensor, mask = aligned([tensor, mask], b)
    mask = Bounded(mask.value, common_sizes([tensor, mask]))
    chosen = flattened(truth(mask, b), b)
    found = compaction(chosen, b)
    if not found.bound:
        return tensor
    message = "there are not as many values as places"
    b.require_equal(b.size(values, 0), found.count, message)
    source = b.resized(values.value, 0, found.bound)
    taken = b("index.Tensor", source, [found.places])
    value = b.where(chosen, taken, flattened(tensor.value, b))
    return Bounded(b.reshape(value, tensor.shape), tensor.sizes)


@bounds("index_add", "index_copy", "index_fill.int_Scalar")
def index_add(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Slices put or added at places along one dimension."""
    values = op.args()
    tensor, index = b.tensor(values["self"]), b.tensor(values["index"])
    if index.rank != 1 or not tensor.rank:
        raise b.refuse("takes a vector of places here")
    dim = normalized(values["dim"], tensor.rank)
    values["self"] = _with_room(tensor, dim, b)
    values["index"] = _writable(
        index, tensor, dim, b, wraps=op.overload_name.startswith("index_fill")
    )
    if "source" in values:
        source = b.tensor(values["source"])
        b.require_equal(b.size(index, 0), b.size(source, dim), "places and slices differ in number")
        values["source"] = b.resized(source.value, dim, index.shape[0])
    value = b(op.overload_name, **values)
    return Bounded(b.slice(value, dim, 0, tensor.shape[dim]), tensor.sizes)


@bounds("scatter.src", "scatter.value", "scatter_add", "scatter_reduce.two")
def scatter(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Elements put, added or reduced at places along one dimension."""
    values = op.args()
    tensor, index = b.tensor(values["self"]), b.tensor(values["index"])
    dim = normalized(values["dim"], tensor.rank)
    if index.rank != tensor.rank or not tensor.rank:
        raise b.refuse("takes indices of the tensor's rank here")
    values["self"] = _with_room(tensor, dim, b)
    values["index"] = _writable(index, tensor, dim, b, wraps=False)
    if "src" in values:
        source = b.tensor(values["src"])
        value = source.value
        for d, extent in enumerate(index.shape):
            value = b.resized(value, d, extent)
        values["src"] = b.converted(value, element_of(tensor.value))
    value = b(op.overload_name, **values)
    return Bounded(b.slice(value, dim, 0, tensor.shape[dim]), tensor.sizes)
