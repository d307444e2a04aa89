"""Result types of overloads that reorder, repeat or place elements: flip, roll, diag, repeats."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    count,
    need_rank,
    tensor,
    wrap_dim,
    wrap_dims,
)
from lamina.dialects.schema.result_rules.views import diagonal_shape


def triangle(args: Args) -> Types:
    """`tril`, `triu`: self's type, at least a matrix."""
    value: TensorType = args["self"]
    if len(value.get_shape()) < 2:
        raise ValueError(f"needs at least 2 dims, got {value}")
    return [value]


def flip(args: Args) -> Types:
    """`flip`: self's type; each dim at most once."""
    wrap_dims(args["dims"], len(args["self"].get_shape()), "dims")
    return [args["self"]]


def roll(args: Args) -> Types:
    """`roll`: self's type; a shift for each dim, or one shift of all elements."""
    shifts, dims = args["shifts"], args["dims"]
    shifts, dims = ([v] if isinstance(v, int) else v for v in (shifts, dims))
    if len(shifts) != len(dims) and not (len(shifts) == 1 and not dims):
        raise ValueError(f"{len(shifts)} shifts for {len(dims)} dims")
    for dim in dims:
        wrap_dim(dim, len(args["self"].get_shape()))
    return [args["self"]]


def rot90(args: Args) -> Types:
    """`rot90`: an odd k swaps the two dims."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    first, second = (wrap_dim(dim, len(shape)) for dim in args["dims"])
    if first == second:
        raise ValueError(f"the dims to rotate must differ, got {list(args['dims'])}")
    if args["k"] % 2:
        shape[first], shape[second] = shape[second], shape[first]
    return [tensor(shape, value.element_type)]


def diag(args: Args) -> Types:
    """`diag`: a vector on a diagonal, or the diagonal of a matrix."""
    value: TensorType = args["self"]
    shape = need_rank(value, (1, 2), "self")
    if len(shape) == 2:
        return [tensor(diagonal_shape(shape, args["diagonal"], 0, 1), value.element_type)]
    return [_embedded(value, shape[0], args["diagonal"], ())]


def _embedded(value: TensorType, length: int, offset: int, rest: Shape) -> TensorType:
    size = DYNAMIC if length < 0 else length + abs(offset)
    return tensor((*rest, size, size), value.element_type)


def diagflat(args: Args) -> Types:
    """All elements on a diagonal."""
    value: TensorType = args["self"]
    return [_embedded(value, count(value.get_shape()), args["offset"], ())]


def diag_embed(args: Args) -> Types:
    """The last dim on a diagonal of two new ones, which stand at dim1 and dim2."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    rank = len(shape) + 1
    places = sorted(wrap_dim(args[name], rank, name) for name in ("dim1", "dim2"))
    if places[0] == places[1]:
        raise ValueError(f"dim1 and dim2 are both {places[0]}")
    length = DYNAMIC if shape[-1] < 0 else shape[-1] + abs(args["offset"])
    new = list(shape[:-1])
    for place in places:
        new.insert(place, length)
    return [tensor(new, value.element_type)]


def repeat_interleave(args: Args) -> Types:
    """Each entry of dim (of all, without dim) as often as told; unknown for a tensor of counts."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    dim = args["dim"]
    if dim is None:
        shape, dim = (count(shape),), 0
    dim = wrap_dim(dim, len(shape))
    repeats = args["repeats"]
    size = args.get("output_size")
    if size is None:
        known = isinstance(repeats, int) and repeats >= 0 and shape[dim] >= 0
        size = shape[dim] * repeats if known else DYNAMIC
    return [tensor((*shape[:dim], size, *shape[dim + 1 :]), value.element_type)]


def repeat_indices(args: Args) -> Types:
    """`repeat_interleave.Tensor`: index i repeats[i] times."""
    size = args["output_size"]
    dtype: Attribute = args["repeats"].element_type
    return [tensor((DYNAMIC if size is None or size < 0 else size,), dtype)]


def left_right(args: Args) -> Types:
    """`fliplr`: self's type, of at least 2 dims."""
    if len(args["self"].get_shape()) < 2:
        raise ValueError(f"needs at least 2 dims, got {args['self']}")
    return [args["self"]]


def up_down(args: Args) -> Types:
    """`flipud`: self's type, of at least 1 dim."""
    if not args["self"].get_shape():
        raise ValueError("needs at least 1 dim")
    return [args["self"]]
