"""Result types of views and reshapes: same elements, another shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import TensorType

from lamina.dialects.schema.promotion import sum_of
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    broadcast,
    count,
    known_shape,
    show,
    static,
    tensor,
    wrap_dim,
    wrap_dims,
)


def own(args: Args) -> tuple[TensorType, Shape]:
    """`self` and its shape."""
    value: TensorType = args["self"]
    return value, value.get_shape()


def reshaped(old: Shape, sizes: Sequence[int]) -> Shape:
    """The shape of `old` seen with the sizes, one of which may be -1."""
    if any(size < 0 and size not in (-1, DYNAMIC) for size in sizes):
        raise ValueError(f"a size below -1 in {list(sizes)}")
    unknown = [place for place, size in enumerate(sizes) if size < 0]
    total = count(old)
    if not unknown:
        new = tuple(sizes)
        if total >= 0 and total != count(new):
            raise ValueError(f"shape {show(old)} has {total} elements, {show(new)} {count(new)}")
        return new
    if len(unknown) > 1 or total < 0:
        return known_shape(sizes)
    rest = count([size for size in sizes if size >= 0])
    if rest == total == 0 and sizes[unknown[0]] == DYNAMIC:
        return known_shape(sizes)
    if rest == 0 or total % rest:
        raise ValueError(f"shape {show(old)} cannot be viewed as {list(sizes)}")
    return tuple(total // rest if size < 0 else size for size in sizes)


def view(args: Args) -> Types:
    """`view`, `reshape`: one size may be -1, the rest must divide the number of elements."""
    value, shape = own(args)
    sizes = args["shape"] if "shape" in args else args["size"]
    return [tensor(reshaped(shape, sizes), value.element_type)]


def view_as(args: Args) -> Types:
    """`view_as`, `reshape_as`: the other's shape."""
    value, shape = own(args)
    return [tensor(reshaped(shape, args["other"].get_shape()), value.element_type)]


def element_bits(value: TensorType) -> int:
    """Bits of an element in memory; bool takes a byte."""
    kind = value.element_type
    part = getattr(kind, "element_type", None)
    bits = 2 * part.bitwidth if part is not None else kind.bitwidth  # pyright: ignore
    return max(bits, 8)


def view_dtype(args: Args) -> Types:
    """`view.dtype`: the same bytes; the last dim takes up the difference of element sizes."""
    value, shape = own(args)
    new = tensor(shape, args["dtype"])
    before, after = element_bits(value), element_bits(new)
    if before == after:
        return [new]
    if not shape:
        raise ValueError("a 0-d tensor can only be viewed as a type of the same size")
    last = shape[-1]
    if last >= 0 and last * before % after:
        raise ValueError(f"the last dim of {value} does not hold whole elements of {args['dtype']}")
    size = DYNAMIC if last < 0 else last * before // after
    return [tensor((*shape[:-1], size), args["dtype"])]


def permute(args: Args) -> Types:
    """Dim i of the result is dim dims[i] of self."""
    value, shape = own(args)
    dims = args["dims"]
    if len(dims) != len(shape):
        raise ValueError(f"dims {list(dims)} must name each of the {len(shape)} dims of {value}")
    order = wrap_dims(dims, len(shape), "dims")
    return [tensor([shape[dim] for dim in order], value.element_type)]


def _swapped(value: TensorType, first: int, second: int) -> Types:
    shape = list(value.get_shape())
    a, b = wrap_dim(first, len(shape)), wrap_dim(second, len(shape))
    if shape:
        shape[a], shape[b] = shape[b], shape[a]
    return [tensor(shape, value.element_type)]


def transpose(args: Args) -> Types:
    """Two dims change places."""
    names = ("dim0", "dim1") if "dim0" in args else ("axis0", "axis1")
    return _swapped(args["self"], args[names[0]], args[names[1]])


def transpose_2d(args: Args) -> Types:
    """`t`: of matrices; lower ranks stay."""
    value, shape = own(args)
    if len(shape) > 2:
        raise ValueError(f"needs at most 2 dims, got {value}")
    return [tensor(shape[::-1], value.element_type)]


def reversed_dims(args: Args) -> Types:
    """`numpy_T`: all dims in reverse."""
    value, shape = own(args)
    return [tensor(shape[::-1], value.element_type)]


def matrix_transpose(args: Args) -> Types:
    """`mT`, `mH`, `adjoint`: the last two dims change places."""
    value, shape = own(args)
    if len(shape) < 2:
        raise ValueError(f"needs at least 2 dims, got {value}")
    return _swapped(value, -2, -1)


def movedim(args: Args) -> Types:
    """Dims `source` go to the places `destination`; the rest keep their order."""
    value, shape = own(args)
    source, destination = args["source"], args["destination"]
    source = [source] if isinstance(source, int) else source
    destination = [destination] if isinstance(destination, int) else destination
    if len(source) != len(destination):
        raise ValueError(f"{len(source)} source dims for {len(destination)} destinations")
    rank = len(shape)
    taken = wrap_dims(source, rank, "source")
    rest = [dim for dim in range(rank) if dim not in taken]
    places = dict(zip(wrap_dims(destination, rank, "destination"), taken, strict=True))
    order = [places[place] if place in places else rest.pop(0) for place in range(rank)]
    return [tensor([shape[dim] for dim in order], value.element_type)]


def unsqueeze(args: Args) -> Types:
    """A new dim of size 1 at `dim`."""
    value, shape = own(args)
    dim = wrap_dim(args["dim"], len(shape) + 1)
    return [tensor((*shape[:dim], 1, *shape[dim:]), value.element_type)]


def squeeze(args: Args) -> Types:
    """Dims of size 1 (all, or those named) are dropped; unknown dims stay unless named alone."""
    value, shape = own(args)
    dim = args.get("dim")
    if dim is None:
        kept = [size for size in shape if size != 1]
    else:
        named = wrap_dims([dim] if isinstance(dim, int) else dim, len(shape))
        kept = [size for place, size in enumerate(shape) if size != 1 or place not in named]
    return [tensor(kept, value.element_type)]


def expanded(value: TensorType, sizes: Sequence[int]) -> Types:
    """`value` with dims of size 1 repeated to the sizes, -1 keeping a dim."""
    shape = value.get_shape()
    extra = len(sizes) - len(shape)
    if extra < 0:
        raise ValueError(f"{value} has more dims than the sizes {show(sizes)}")
    result = list(known_shape(sizes))
    for place, size in enumerate(shape, extra):
        if sizes[place] == -1 or (sizes[place] == DYNAMIC and size > 1):
            result[place] = size
        elif size not in (1, DYNAMIC) and sizes[place] >= 0 and sizes[place] != size:
            raise ValueError(f"{value} does not expand to {show(sizes)}")
    if any(sizes[place] == -1 for place in range(extra)):
        raise ValueError(f"-1 in {list(sizes)} stands for a dim that {value} does not have")
    return [tensor(result, value.element_type)]


def expand(args: Args) -> Types:
    """`expand`, `broadcast_to`."""
    return expanded(args["self"], args["size"])


def expand_as(args: Args) -> Types:
    """Expanded to the other's shape."""
    return expanded(args["self"], args["other"].get_shape())


def broadcast_tensors(args: Args) -> Types:
    """All tensors with the shape they broadcast to."""
    tensors: list[TensorType] = args["tensors"]
    if not tensors:
        return []
    shape = broadcast(*(t.get_shape() for t in tensors))
    return [tensor(shape, t.element_type) for t in tensors]


def repeat(args: Args) -> Types:
    """`repeat`: each dim as often as told, new dims in front."""
    value, shape = own(args)
    repeats = args["repeats"]
    extra = len(repeats) - len(shape)
    if extra < 0:
        raise ValueError(f"{len(repeats)} repeats for {value}")
    padded = (1,) * extra + shape
    sizes = [DYNAMIC if s < 0 or r < 0 else s * r for s, r in zip(padded, repeats, strict=True)]
    return [tensor(sizes, value.element_type)]


def tile(args: Args) -> Types:
    """`tile`: as `repeat`, with ones in front of too few repeats."""
    value, shape = own(args)
    dims = list(args["dims"])
    return repeat({"self": value, "repeats": [1] * (len(shape) - len(dims)) + dims})


def slice_size(size: int, start: int | None, end: int | None, step: int) -> int:
    """Length of `x[start:end:step]` for a dim of that size."""
    if step != DYNAMIC and step <= 0:
        raise ValueError(f"the step must be positive, got {step}")
    start = 0 if start is None else start
    end = 2**63 - 1 if end is None else end
    if DYNAMIC in (start, end, step, size):
        whole = start == 0 and end == 2**63 - 1 and step == 1
        return size if whole else DYNAMIC
    start = min(max(start + size if start < 0 else start, 0), size)
    end = min(max(end + size if end < 0 else end, start), size)
    return -(-(end - start) // step)


def slice_dim(args: Args) -> Types:
    """`slice.Tensor`: a range of one dim, python's rules."""
    value, shape = own(args)
    if not shape:
        raise ValueError("a 0-d tensor cannot be sliced")
    dim = wrap_dim(args["dim"], len(shape))
    size = slice_size(shape[dim], args["start"], args["end"], args["step"])
    return [tensor((*shape[:dim], size, *shape[dim + 1 :]), value.element_type)]


def narrow(args: Args) -> Types:
    """`length` entries of one dim."""
    value, shape = own(args)
    if not shape:
        raise ValueError("a 0-d tensor has no dim to narrow")
    dim = wrap_dim(args["dim"], len(shape))
    length = args["length"]
    start = args["start"]
    if isinstance(start, TensorType) and start.get_shape():
        raise ValueError(f"start must be 0-d, got {start}")
    if isinstance(start, int) and start != DYNAMIC and abs(start) > shape[dim] >= 0:
        raise ValueError(f"start {start} is out of range for dim {dim} of {value}")
    if length >= 0 and 0 <= shape[dim] < length:
        raise ValueError(f"length {length} is more than dim {dim} of {value}")
    return [
        tensor(
            (*shape[:dim], DYNAMIC if length < 0 else length, *shape[dim + 1 :]), value.element_type
        )
    ]


def select(args: Args) -> Types:
    """One entry of one dim, which goes."""
    value, shape = own(args)
    if not shape:
        raise ValueError("a 0-d tensor has no dim to select from")
    dim = wrap_dim(args["dim"], len(shape))
    index, size = args["index"], shape[dim]
    if index != DYNAMIC and size >= 0 and not -size <= index < size:
        raise ValueError(f"index {index} is out of range for dim {dim} of {value}")
    return [tensor(shape[:dim] + shape[dim + 1 :], value.element_type)]


def flatten(args: Args) -> Types:
    """Dims start_dim to end_dim become one; a 0-d tensor becomes 1-d."""
    value, shape = own(args)
    start = wrap_dim(args["start_dim"], len(shape), "start_dim")
    end = wrap_dim(args["end_dim"], len(shape), "end_dim")
    if start > end:
        raise ValueError(f"start_dim {start} lies behind end_dim {end}")
    joined = count(shape[start : end + 1])
    return [tensor((*shape[:start], joined, *shape[end + 1 :]), value.element_type)]


def ravel(args: Args) -> Types:
    """All dims become one."""
    value, shape = own(args)
    return [tensor([count(shape)], value.element_type)]


def unflatten(args: Args) -> Types:
    """One dim becomes several."""
    value, shape = own(args)
    dim = wrap_dim(args["dim"], len(shape))
    parts = reshaped((shape[dim],), args["sizes"])
    return [tensor((*shape[:dim], *parts, *shape[dim + 1 :]), value.element_type)]


def as_strided(args: Args) -> Types:
    """Any sizes and strides over self's memory."""
    if args["stride"] is not None and len(args["stride"]) != len(args["size"]):
        raise ValueError(f"{len(args['size'])} sizes for {len(args['stride'])} strides")
    return [tensor(known_shape(args["size"]), args["self"].element_type)]


def diagonal_shape(shape: Shape, offset: int, first: int, second: int) -> Shape:
    """Dims other than the two, then the length of the diagonal."""
    a, b = wrap_dims([first, second], len(shape), "dim1, dim2")
    rest = tuple(size for place, size in enumerate(shape) if place not in (a, b))
    rows, columns = shape[a], shape[b]
    if rows < 0 or columns < 0:
        return (*rest, DYNAMIC)
    length = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    return (*rest, max(length, 0))


def diagonal(args: Args) -> Types:
    """A diagonal of two dims, as the last dim."""
    value, shape = own(args)
    dims = (args["dim1"], args["dim2"])
    return [tensor(diagonal_shape(shape, args["offset"], *dims), value.element_type)]


def linalg_diagonal(args: Args) -> Types:
    """`linalg_diagonal`: as `diagonal` of `A`, of the last two dims by default."""
    value: TensorType = args["A"]
    shape = diagonal_shape(value.get_shape(), args["offset"], args["dim1"], args["dim2"])
    return [tensor(shape, value.element_type)]


def unfold(args: Args) -> Types:
    """Windows of one dim, their contents as a new last dim."""
    value, shape = own(args)
    dim, size, step = wrap_dim(args["dimension"], len(shape)), args["size"], args["step"]
    length = shape[dim] if shape else 1
    if min(length, size, step) < 0:
        return [tensor((*shape[:dim], DYNAMIC, *shape[dim + 1 :], size), value.element_type)]
    if size > length or step <= 0:
        raise ValueError(f"windows of {size} every {step} do not fit dim {dim} of {value}")
    windows = () if not shape else ((length - size) // step + 1,)
    return [tensor((*shape[:dim], *windows, *shape[dim + 1 :], size), value.element_type)]


def atleast(args: Args, rank: int) -> Types:
    """Dims of size 1 added up to a rank, as numpy adds them."""
    given = args["self"] if "self" in args else args["tensors"]
    values: Iterable[TensorType] = [given] if isinstance(given, TensorType) else given
    return [tensor(_padded(v.get_shape(), rank), v.element_type) for v in values]


def _padded(shape: Shape, rank: int) -> Shape:
    if len(shape) >= rank:
        return shape
    if rank < 3:
        return (1,) * (rank - len(shape)) + shape
    return {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]


def atleast_1d(args: Args) -> Types:
    """At least 1 dim."""
    return atleast(args, 1)


def atleast_2d(args: Args) -> Types:
    """At least 2 dims."""
    return atleast(args, 2)


def atleast_3d(args: Args) -> Types:
    """At least 3 dims; a vector stands in the middle."""
    return atleast(args, 3)


def sum_to_size(args: Args) -> Types:
    """`sum_to_size`: the sizes, to which self's dims sum up."""
    value, shape = own(args)
    sizes = known_shape(args["size"])
    if static(shape) and static(sizes) and broadcast(shape, sizes) != shape:
        raise ValueError(f"{value} does not sum to {show(sizes)}")
    return [
        tensor(sizes, value.element_type if sizes == shape != () else sum_of(value.element_type))
    ]


def square_matrices(value: TensorType, name: str) -> Shape:
    """The shape of a batch of square matrices."""
    shape = value.get_shape()
    if len(shape) < 2 or (min(shape[-2:]) >= 0 and shape[-1] != shape[-2]):
        raise ValueError(f"'{name}' must be square in its last two dims, got {value}")
    return shape
