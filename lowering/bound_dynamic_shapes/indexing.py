"""Reading at computed places: places in the padding are made 0, which every dimension has."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.compaction import compaction, flattened
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.selecting import coordinates, truth
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped
from lamina.lowering.tensor_types import element_of, normalized


def is_mask(value: SSAValue) -> bool:
    """Whether an index says of each element whether it is chosen."""
    return element_of(value) == i1


def in_range(
    index: Bounded, tensor: Bounded, dim: int, b: BoundBuilder, *, wraps: bool = True
) -> Bounded:
    """Places that may be read in the padded dimension.

    Negative ones count from where elements end if the op `wraps`. Those outside become the bound,
    which the check at run time refuses, and those in the padding of `index` become 0.
    """
    extent = tensor.shape[dim]
    if not extent and not index.is_static:
        raise b.refuse("reads a dimension without elements at places of unknown number")
    value = index.value
    count = tensor.sizes[dim]
    if count is not None:
        value = b.converted(value, i64)
        if wraps:
            value = b.where(b("lt.Scalar", value, 0), b("add.Tensor", value, count), value)
        outside = b("logical_or.default", b("lt.Scalar", value, 0), b("ge.Tensor", value, count))
        value = b("masked_fill.Scalar", value, outside, extent)
    return Bounded(b.filled(Bounded(value, index.sizes), 0), index.sizes)


def index_vectors(
    tensor: Bounded, given: Sequence[SSAValue | None], b: BoundBuilder
) -> list[Bounded | None]:
    """Indices of `tensor` as places: a mask becomes a vector of places for each dimension."""
    found: list[Bounded | None] = []
    for index in given:
        if index is None:
            found.append(None)
        elif is_mask(index):
            mask = b.tensor(index)
            for dim in range(mask.rank):
                message = f"the mask's size differs at dimension {len(found) + dim}"
                b.require_equal(b.size(mask, dim), b.size(tensor, len(found) + dim), message)
            found += coordinates(mask, b)
        else:
            found.append(b.tensor(index))
    return found


def aligned_indices(indices: list[Bounded | None], b: BoundBuilder) -> list[Bounded | None]:
    """Indices with one rank and equal sizes."""
    ready = iter(aligned([index for index in indices if index is not None], b))
    return [None if index is None else next(ready) for index in indices]


@takes_groups
@bounds("index.Tensor", "_unsafe_index.Tensor")
def index(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Elements at places, or where masks hold."""
    given = op.arg("indices")
    first, places = given[0], [n for n, own in enumerate(given) if own is not None]
    if len(places) == 1 and op.arg("self") not in b.state.grouped:
        (dim,) = places
        if not is_mask(given[dim]):
            return _at_places(b.tensor(op.arg("self")), b.grouped(given[dim]), dim, b)
    move_together(op, b)
    tensor = b.tensor(op.arg("self"))
    if first is not None and is_mask(first) and not any(i is not None for i in given[1:]):
        found = _leading_mask(tensor, b.tensor(first), b)
        if found is not None:
            return found
    indices = aligned_indices(index_vectors(tensor, given, b), b)
    safe = [
        None if i is None else in_range(i, tensor, dim, b).value for dim, i in enumerate(indices)
    ]
    value = b("index.Tensor", tensor.value, safe)
    return Bounded(value, _index_sizes(tensor, indices))


def _at_places(tensor: Bounded, given: Grouped, dim: int, b: BoundBuilder) -> Bounded | Grouped:
    """Slices at places along one dimension: places in groups stand apart in the result."""
    safe = in_range(given.tensor, tensor, dim, b)
    value = b("index.Tensor", tensor.value, [*[None] * dim, safe.value])
    sizes = (*tensor.sizes[:dim], *given.tensor.sizes, *tensor.sizes[dim + 1 :])
    groups = (*[1] * dim, *given.groups, *[1] * (tensor.rank - dim - 1))
    return in_groups(Bounded(value, sizes), groups)


def _leading_mask(tensor: Bounded, mask: Bounded, b: BoundBuilder) -> Bounded | None:
    """`x[mask]` over all dimensions: elements move without their places being computed."""
    if mask.rank != tensor.rank or not mask.rank:
        return None
    tensor, mask = aligned([tensor, mask], b)
    if tensor.shape != mask.shape:
        return None
    mask = Bounded(mask.value, common_sizes([tensor, mask]))
    return compaction(flattened(truth(mask, b), b), b).moved(flattened(tensor.value, b), b)


def _index_sizes(tensor: Bounded, indices: list[Bounded | None]) -> tuple[Count, ...]:
    """Sizes of an indexed tensor: the indices' own stand where the first is, or in front."""
    places = [dim for dim, index in enumerate(indices) if index is not None]
    common = common_sizes([index for index in indices if index is not None])
    rest = [size for dim, size in enumerate(tensor.sizes) if dim not in places]
    adjacent = places == list(range(places[0], places[-1] + 1))
    at = places[0] if adjacent else 0
    return (*rest[:at], *common, *rest[at:])


@takes_groups
@bounds("embedding")
def embedding(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Rows at places, none of which is negative."""
    if op.arg("weight") in b.state.grouped:
        move_together(op, b)
    return _rows_at(b.tensor(op.arg("weight")), b.grouped(op.arg("indices")), b)


def _rows_at(table: Bounded, given: Grouped, b: BoundBuilder) -> Bounded | Grouped:
    """Rows of a table at places in groups, none of which is negative."""
    index = given.tensor
    safe = in_range(index, table, 0, b, wraps=False)
    value = b("embedding.default", table.value, safe.value)
    return in_groups(Bounded(value, (*index.sizes, *table.sizes[1:])), (*given.groups, 1))


@takes_groups
@bounds("index_select")
def index_select(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Slices at places, none of which is negative."""
    values = op.args()
    table, given = values["self"], b.grouped(values["index"])
    is_table = table not in b.state.grouped and b.tensor(table).rank == 2
    apart = len(given.groups) == 1 and given.groups[0] > 1
    if is_table and apart and normalized(values["dim"], 2) == 0:
        return _rows_at(b.tensor(table), given, b)
    move_together(op, b)
    tensor, index = b.tensor(values["self"]), b.tensor(values["index"])
    if not tensor.rank:
        raise b.refuse("selects of a tensor without dimensions at places of unknown number")
    dim = normalized(values["dim"], tensor.rank)
    safe = in_range(index, tensor, dim, b, wraps=False)
    value = b("index_select.default", tensor.value, dim, safe.value)
    taken = index.sizes or (None,)  # one place is a vector of one
    return Bounded(value, (*tensor.sizes[:dim], *taken, *tensor.sizes[dim + 1 :]))


@takes_groups
@bounds("gather", "take_along_dim")
def gather(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Elements at places along one dimension."""
    values = op.args()
    name = "index" if "index" in values else "indices"
    tensor, index = b.grouped(values["self"]), b.grouped(values[name])
    rank = len(tensor.groups)
    if values["dim"] is not None and rank and _are_alike(tensor, index, values["dim"] % rank):
        dim = tensor.dims[values["dim"] % rank][0]
        return in_groups(_gathered(op, tensor.tensor, index.tensor, dim, b), tensor.groups)
    move_together(op, b)
    return _gathered(op, b.tensor(values["self"]), b.tensor(values[name]), values["dim"], b)


def _are_alike(tensor: Grouped, index: Grouped, place: int) -> bool:
    """Whether both are in the same groups, but for the dimension at a place, which is one."""
    if tensor.groups != index.groups or tensor.groups[place] != 1:
        return False
    (along,) = tensor.dims[place]
    one, other = tensor.tensor, index.tensor
    dims = [dim for dim in range(one.rank) if dim != along]
    return all(one.sizes[d] is other.sizes[d] and one.shape[d] == other.shape[d] for d in dims)


def _gathered(
    op: SchemaOp, tensor: Bounded, index: Bounded, given: int | None, b: BoundBuilder
) -> Bounded:
    values = {**op.args(), "dim": given}
    if values["dim"] is None or not tensor.rank or index.rank != tensor.rank:
        raise b.refuse("takes a dimension here, and indices of the tensor's rank")
    dim = normalized(values["dim"], tensor.rank)
    wraps = op.overload_name.startswith("take_along")
    safe = in_range(index, tensor, dim, b, wraps=wraps)
    value = b(op.overload_name, **{**_renamed(values, tensor.value, safe.value), "dim": dim})
    sizes = index.sizes
    if op.overload_name.startswith("take_along"):
        sizes = tuple(
            size if size is not None or d == dim else own
            for d, (size, own) in enumerate(zip(index.sizes, tensor.sizes, strict=True))
        )
    return Bounded(value, sizes)


def _renamed(values: dict[str, object], tensor: SSAValue, index: SSAValue) -> dict[str, object]:
    name = "index" if "index" in values else "indices"
    return {**values, "self": tensor, name: index}


@bounds("take")
def take(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Elements at places among all."""
    tensor, index = b.tensor(op.arg("self")), b.tensor(op.arg("index"))
    if any(d > 0 for d in tensor.dynamic_dims):
        raise b.refuse("counts places through an inner dimension whose size depends on data")
    count = b.elements(tensor)
    flat = b.bounded(flattened(tensor.value, b), [count])
    safe = in_range(index, flat, 0, b)
    return Bounded(b("take.default", flat.value, safe.value), index.sizes)
