"""Result types of gathers, scatters and indexing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i1, i64

from lamina.dialects.schema.promotion import FLOAT, category, ui8
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    broadcast,
    need_rank,
    same_shape,
    same_size,
    show,
    tensor,
    wrap_dim,
)
from lamina.dialects.schema.result_rules.views import diagonal_shape, slice_size


def need_index(index: TensorType, name: str = "index") -> Shape:
    """The shape of an index tensor, which must hold integers."""
    if category(index.element_type) >= FLOAT:
        raise ValueError(f"'{name}' must hold integers, got {index}")
    return index.get_shape()


def embedding(args: Args) -> Types:
    """Rows of the weight for each index."""
    table = need_rank(args["weight"], 2, "weight")
    shape = need_index(args["indices"], "indices")
    return [tensor((*shape, table[1]), args["weight"].element_type)]


def embedding_renorm(args: Args) -> Types:
    """The table's type."""
    need_index(args["indices"], "indices")
    return [args["self"]]


def index_select(args: Args) -> Types:
    """Entries of dim by a vector of indices."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    dim = wrap_dim(args["dim"], len(shape))
    index = need_index(args["index"])
    if len(index) > 1:
        raise ValueError(f"'index' must be a vector, got {args['index']}")
    length = index[0] if index else 1
    new = (*shape[:dim], length, *shape[dim + 1 :]) if shape else ()
    return [tensor(new, value.element_type)]


def _need_along(value: TensorType, index: TensorType, dim: int, *, also: str = "") -> int:
    shape, places = value.get_shape(), need_index(index)
    dim = wrap_dim(dim, len(shape))
    if 0 in places:
        return dim
    if max(len(shape), 1) != max(len(places), 1):
        raise ValueError(f"index {index} must have the rank of {value}")
    for place, (size, length) in enumerate(zip(shape, places, strict=False)):
        if place != dim and 0 <= size < length:
            raise ValueError(f"index {index} is larger than {also}{value} in dim {place}")
    return dim


def gather(args: Args) -> Types:
    """The index's shape."""
    value, index = args["self"], args["index"]
    _need_along(value, index, args["dim"])
    return [tensor(index.get_shape(), value.element_type)]


def take_along_dim(args: Args) -> Types:
    """As gather, other dims broadcast; flat without dim."""
    value, index = args["self"], args["indices"]
    shape, places = value.get_shape(), need_index(index, "indices")
    if args["dim"] is None:
        size = 1
        for length in places:
            size = DYNAMIC if size < 0 or length < 0 else size * length
        return [tensor((size,), value.element_type)]
    dim = wrap_dim(args["dim"], len(shape))
    rest = broadcast(_with_one(shape, dim), _with_one(places, dim))
    return [tensor((*rest[:dim], places[dim], *rest[dim + 1 :]), value.element_type)]


def _with_one(shape: Shape, dim: int) -> Shape:
    return (*shape[:dim], 1, *shape[dim + 1 :])


def scatter(args: Args) -> Types:
    """`scatter`, `scatter_add`, `scatter_reduce`: self's type."""
    value, index, source = args["self"], args["index"], args.get("src")
    _need_along(value, index, args["dim"])
    if isinstance(source, TensorType):
        if source.element_type != value.element_type:
            raise ValueError(f"self {value} and src {source} differ in element type")
        _need_covered(index, source)
    return [value]


def _need_covered(index: TensorType, source: TensorType) -> None:
    places, given = index.get_shape(), source.get_shape()
    if 0 in places:
        return
    if max(len(places), 1) != max(len(given), 1):
        raise ValueError(f"index {index} must have the rank of src {source}")
    for place, (length, size) in enumerate(zip(places, given, strict=False)):
        if 0 <= size < length:
            raise ValueError(f"index {index} is larger than src {source} in dim {place}")


def along_dim(args: Args) -> Types:
    """`index_add`, `index_copy`, `index_fill`, `index_reduce`: self's type."""
    value: TensorType = args["self"]
    wrap_dim(args["dim"], len(value.get_shape()))
    if len(need_index(args["index"])) > 1:
        raise ValueError(f"'index' must be a vector, got {args['index']}")
    return [value]


def _masks_as_indices(indices: Sequence[TensorType | None]) -> list[Shape | None]:
    """Index shapes; a bool mask stands for as many vectors of unknown length as it has dims."""
    found: list[Shape | None] = []
    for index in indices:
        if index is None:
            found.append(None)
        elif index.element_type in (i1, ui8):
            found += [(DYNAMIC,)] * len(index.get_shape())
        else:
            found.append(need_index(index, "indices"))
    return found


def _need_masks_fit(shape: Shape, indices: Sequence[TensorType | None]) -> None:
    place = 0
    for index in indices:
        if index is None or index.element_type not in (i1, ui8):
            place += 1
            continue
        mask = index.get_shape()
        part = shape[place : place + len(mask)]
        if not same_shape(mask, part):
            raise ValueError(f"mask {index} does not fit dims {show(part)}")
        place += len(mask)


def indexed_shape(shape: Shape, indices: Sequence[TensorType | None]) -> Shape:
    """Of `x[i, :, j]`: index dims broadcast and stand where the indices are, or in front if `None`
    separates them."""
    masks = any(i is not None and i.element_type in (i1, ui8) for i in indices)
    if masks:
        _need_masks_fit(shape, indices)
    places = _masks_as_indices(indices)
    if len(places) > len(shape):
        raise ValueError(f"{len(places)} indices for shape {show(shape)}")
    places += [None] * (len(shape) - len(places))
    used = [place for place, index in enumerate(places) if index is not None]
    if not used:
        return shape
    joint = broadcast(*(index for index in places if index is not None))
    rest = [size for size, index in zip(shape, places, strict=True) if index is None]
    adjacent = used[-1] - used[0] + 1 == len(used)
    start = used[0] if adjacent else 0
    return (*rest[:start], *joint, *rest[start:])


def index(args: Args) -> Types:
    """`index.Tensor`: advanced indexing; masks give unknown lengths."""
    value: TensorType = args["self"]
    return [tensor(indexed_shape(value.get_shape(), args["indices"]), value.element_type)]


def index_put(args: Args) -> Types:
    """`index_put`: self's type; values broadcast to what the indices name."""
    value, values = args["self"], args["values"]
    if values.element_type != value.element_type:
        raise ValueError(f"self {value} and values {values} differ in element type")
    named = indexed_shape(value.get_shape(), args["indices"])
    sizes = values.get_shape()
    while len(sizes) > len(named) and sizes[0] == 1:
        sizes = sizes[1:]
    if not same_shape(broadcast(named, sizes), named):
        raise ValueError(f"values {values} do not broadcast to the indexed {show(named)}")
    return [value]


def masked_index(args: Args) -> Types:
    """`_unsafe_masked_index`: as `index.Tensor`."""
    return index(args)


def masked_index_put(args: Args) -> Types:
    """`_unsafe_masked_index_put_accumulate`: self's type."""
    return [args["self"]]


def masked_select(args: Args) -> Types:
    """A vector of unknown length."""
    value, mask = args["self"], args["mask"]
    if mask.element_type != i1:
        raise ValueError(f"the mask must be bool, got {mask}")
    broadcast(value.get_shape(), mask.get_shape())
    return [tensor((DYNAMIC,), value.element_type)]


def masked_scatter(args: Args) -> Types:
    """Self's element type, broadcast with the mask."""
    value, mask = args["self"], args["mask"]
    if mask.element_type != i1:
        raise ValueError(f"the mask must be bool, got {mask}")
    if args["source"].element_type != value.element_type:
        raise ValueError(f"self {value} and source {args['source']} differ in element type")
    shape = broadcast(value.get_shape(), mask.get_shape())
    return [tensor(shape, value.element_type)]


def nonzero(args: Args) -> Types:
    """`nonzero`, `argwhere`: rows of i64 indices, their number unknown."""
    return [tensor((DYNAMIC, len(args["self"].get_shape())), i64)]


def nonzero_static(args: Args) -> Types:
    """`size` rows of i64 indices."""
    size = args["size"]
    return [tensor((DYNAMIC if size < 0 else size, len(args["self"].get_shape())), i64)]


def nonzero_numpy(args: Args) -> Types:
    """One vector of i64 indices for each dim."""
    return [tensor((DYNAMIC,), i64)] * max(len(args["self"].get_shape()), 1)


def take(args: Args) -> Types:
    """`take`: the index's shape."""
    return [tensor(need_index(args["index"]), args["self"].element_type)]


def put(args: Args) -> Types:
    """`put`: self's type."""
    need_index(args["index"])
    return [args["self"]]


def _replaced(value: TensorType, source: TensorType, shape: Shape) -> Types:
    if not same_shape(source.get_shape(), shape):
        raise ValueError(f"src {source} must have the shape {show(shape)} that it replaces")
    return [value]


def slice_scatter(args: Args) -> Types:
    """Self's type; src has the shape of the slice."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    dim = wrap_dim(args["dim"], len(shape))
    size = slice_size(shape[dim], args["start"], args["end"], args["step"])
    part = (*shape[:dim], size, *shape[dim + 1 :])
    if not same_shape(broadcast(args["src"].get_shape(), part), part):
        raise ValueError(f"src {args['src']} must have the shape {show(part)} of the slice")
    return [value]


def select_scatter(args: Args) -> Types:
    """Self's type; src has the shape of the selected entry."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    dim = wrap_dim(args["dim"], len(shape))
    size = shape[dim] if shape else 0
    position = args["index"]
    if position != DYNAMIC and size >= 0 and not -size <= position < size:
        raise ValueError(f"index {position} is out of range for dim {dim} of {value}")
    return _replaced(value, args["src"], shape[:dim] + shape[dim + 1 :])


def diagonal_scatter(args: Args) -> Types:
    """Self's type; src has the shape of the diagonal."""
    value: TensorType = args["self"]
    shape = diagonal_shape(value.get_shape(), args["offset"], args["dim1"], args["dim2"])
    return _replaced(value, args["src"], shape)


def as_strided_scatter(args: Args) -> Types:
    """Self's type; src has the sizes."""
    return _replaced(args["self"], args["src"], tuple(args["size"]))


def one_hot(args: Args) -> Types:
    """A new last dim of num_classes."""
    classes = args["num_classes"]
    size = DYNAMIC if classes < 0 else classes
    return [tensor((*need_index(args["self"], "self"), size), i64)]


def is_in(args: Args) -> Types:
    """`isin`: bool of the elements' shape."""
    elements = args["elements"] if "elements" in args else args["element"]
    shape = elements.get_shape() if isinstance(elements, TensorType) else ()
    return [tensor(shape, i1)]


def renorm(args: Args) -> Types:
    """`renorm`: self's type."""
    wrap_dim(args["dim"], len(args["self"].get_shape()))
    return [args["self"]]


def bincount(args: Args) -> Types:
    """A vector of unknown length: i64 counts, or f64 sums of weights."""
    from xdsl.dialects.builtin import f32, f64

    weights = args["weights"]
    need_rank(args["self"], 1, "self")
    if weights is not None and not same_size(weights.get_shape()[0], args["self"].get_shape()[0]):
        raise ValueError(f"weights {weights} for {args['self']}")
    if weights is None:
        return [tensor((DYNAMIC,), i64)]
    return [tensor((DYNAMIC,), f32 if weights.element_type == f32 else f64)]
