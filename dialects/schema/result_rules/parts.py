"""Result types of overloads that cut tensors up or put them together: split, cat, stack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import TensorType

from lamina.dialects.schema.promotion import result_dtype
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    merge_size,
    same_shape,
    same_size,
    tensor,
    wrap_dim,
)
from lamina.dialects.schema.result_rules.views import own, slice_size
from lamina.dialects.schema.values import UntoldError


def _pieces(value: TensorType, dim: int, sizes: Sequence[int]) -> Types:
    shape = value.get_shape()
    before, after = shape[:dim], shape[dim + 1 :]
    return [tensor((*before, size, *after), value.element_type) for size in sizes]


def _cut(args: Args, default: int = 0) -> tuple[TensorType, int, int]:
    value, shape = own(args)
    if not shape:
        raise ValueError("a 0-d tensor cannot be split")
    dim = wrap_dim(args.get("dim", default), len(shape))
    return value, dim, shape[dim]


def _need_size(value: TensorType, dim: int) -> int:
    size = value.get_shape()[dim]
    if size < 0:
        raise UntoldError(f"the number of results depends on dim {dim} of {value}")
    return size


def chunks_of(total: int, size: int) -> list[int]:
    """Sizes of pieces of `size` with a shorter last one; one empty piece of nothing."""
    if total == 0:
        return [0]
    return [min(size, total - start) for start in range(0, total, size)]


def split(args: Args) -> Types:
    """`split.Tensor`: pieces of split_size along dim, the last may be shorter."""
    value, dim, _ = _cut(args)
    size, total = args["split_size"], _need_size(value, dim)
    if size < 0 or (size == 0 and total):
        raise ValueError(f"split_size must be positive and known, got {size}")
    return _pieces(value, dim, chunks_of(total, size))


def split_with_sizes(args: Args) -> Types:
    """Pieces of the sizes, which must add up to the dim."""
    value, dim, total = _cut(args)
    sizes = args["split_sizes"] if "split_sizes" in args else args["split_size"]
    if total >= 0 and min(sizes, default=0) >= 0 and sum(sizes) != total:
        raise ValueError(f"sizes {list(sizes)} do not add up to dim {dim} of {value}")
    return _pieces(value, dim, [DYNAMIC if size < 0 else size for size in sizes])


def chunk(args: Args) -> Types:
    """At most `chunks` pieces of equal size, the last may be shorter."""
    value, dim, _ = _cut(args)
    if args["chunks"] <= 0:
        raise ValueError(f"chunks must be positive, got {args['chunks']}")
    total = _need_size(value, dim)
    if total == 0:
        return _pieces(value, dim, [0] * args["chunks"])
    return _pieces(value, dim, chunks_of(total, -(-total // args["chunks"])))


def unbind(args: Args) -> Types:
    """One result for each entry of dim, which goes."""
    value, dim, _ = _cut(args)
    shape = value.get_shape()
    entry = tensor(shape[:dim] + shape[dim + 1 :], value.element_type)
    return [entry] * _need_size(value, dim)


def _sections(value: TensorType, dim: int, number: int) -> Types:
    if number <= 0:
        raise ValueError(f"the number of sections must be positive, got {number}")
    small, larger = divmod(_need_size(value, dim), number)
    return _pieces(value, dim, [small + (place < larger) for place in range(number)])


def _between(value: TensorType, dim: int, indices: Sequence[int]) -> Types:
    total = value.get_shape()[dim]
    bounds: list[int | None] = [0, *indices, None]
    cuts = pairwise(bounds)
    return _pieces(value, dim, [slice_size(total, start, end, 1) for start, end in cuts])


def tensor_split(args: Args) -> Types:
    """`tensor_split`: nearly equal sections, or pieces between indices."""
    value, dim, _ = _cut(args)
    if "sections" in args:
        return _sections(value, dim, args["sections"])
    return _between(value, dim, args["indices"])


def _axis_split(args: Args, dim: int, least: int) -> Types:
    value, shape = own(args)
    if len(shape) < least:
        raise ValueError(f"needs at least {least} dims, got {value}")
    if "indices" in args:
        return _between(value, dim, args["indices"])
    total = _need_size(value, dim)
    if args["sections"] <= 0 or total % args["sections"]:
        raise ValueError(f"dim {dim} of {value} is no multiple of {args['sections']} sections")
    return _sections(value, dim, args["sections"])


def hsplit(args: Args) -> Types:
    """Along dim 1, or 0 of vectors."""
    return _axis_split(args, 1 if len(args["self"].get_shape()) > 1 else 0, 1)


def vsplit(args: Args) -> Types:
    """Along dim 0."""
    return _axis_split(args, 0, 2)


def dsplit(args: Args) -> Types:
    """Along dim 2."""
    return _axis_split(args, 2, 3)


def joined(tensors: Sequence[TensorType], dim: int) -> TensorType:
    """Tensors end to end along dim: other dims equal, element types promoted.

    As in torch, 1-d tensors without elements are left out.
    """
    if not tensors:
        raise ValueError("needs at least one tensor")
    dtype = result_dtype(tensors)
    shapes = [t.get_shape() for t in tensors]
    kept = [shape for shape in shapes if shape != (0,)] or shapes[:1]
    first = kept[0]
    if not first:
        raise ValueError("0-d tensors cannot be concatenated")
    dim = wrap_dim(dim, len(first))
    result, total = list(first), 0
    for shape in kept:
        if len(shape) != len(first):
            raise ValueError(f"ranks differ: {tensors[0]} and {tensor(shape, dtype)}")
        for place, size in enumerate(shape):
            if place != dim and not same_size(result[place], size):
                listed = ", ".join(map(str, tensors))
                raise ValueError(f"sizes of dim {place} differ among {listed}")
            result[place] = merge_size(result[place], size)
        total = DYNAMIC if total < 0 or shape[dim] < 0 else total + shape[dim]
    result[dim] = total
    return tensor(result, dtype)


def cat(args: Args) -> Types:
    """`cat`, `concat`, `concatenate`."""
    return [joined(args["tensors"], args["dim"] if "dim" in args else args["axis"])]


def stack(args: Args) -> Types:
    """Equal shapes along a new dim."""
    tensors: list[TensorType] = args["tensors"]
    if not tensors:
        raise ValueError("needs at least one tensor")
    shape = tensors[0].get_shape()
    for other in tensors:
        if not same_shape(shape, other.get_shape()):
            raise ValueError(f"shapes differ: {tensors[0]} and {other}")
        shape = tuple(map(merge_size, shape, other.get_shape()))
    dim = wrap_dim(args["dim"], len(shape) + 1)
    return [tensor((*shape[:dim], len(tensors), *shape[dim:]), result_dtype(tensors))]


def _at_least(value: TensorType, rank: int) -> TensorType:
    from lamina.dialects.schema.result_rules.views import atleast

    found = atleast({"self": value}, rank)[0]
    assert isinstance(found, TensorType)
    return found


def hstack(args: Args) -> Types:
    """Along dim 1, or 0 of vectors."""
    tensors = [_at_least(t, 1) for t in args["tensors"]]
    return [joined(tensors, 0 if tensors and len(tensors[0].get_shape()) == 1 else 1)]


def vstack(args: Args) -> Types:
    """Along dim 0, vectors being rows."""
    return [joined([_at_least(t, 2) for t in args["tensors"]], 0)]


def dstack(args: Args) -> Types:
    """Along dim 2."""
    return [joined([_at_least(t, 3) for t in args["tensors"]], 2)]


def column_stack(args: Args) -> Types:
    """Along dim 1, vectors being columns."""
    columns = [
        tensor((*t.get_shape(), 1)[-2:] if t.get_shape() else (1, 1), t.element_type)
        if len(t.get_shape()) < 2
        else t
        for t in args["tensors"]
    ]
    return [joined(columns, 1)]


def block_diag(args: Args) -> Types:
    """Matrices along the diagonal of one."""
    shapes: list[Shape] = [_at_least(t, 2).get_shape() for t in args["tensors"]]
    sizes = [DYNAMIC if min(part) < 0 else sum(part) for part in zip(*shapes, strict=True)]
    return [tensor(sizes, result_dtype(args["tensors"]))]


def meshgrid(args: Args) -> Types:
    """One grid for each vector; indexing "xy" swaps the first two dims."""
    lengths = [(*t.get_shape(), 1)[0] for t in args["tensors"]]
    if args.get("indexing") == "xy" and len(lengths) > 1:
        lengths[0], lengths[1] = lengths[1], lengths[0]
    return [tensor(lengths, t.element_type) for t in args["tensors"]]


def cartesian_prod(args: Args) -> Types:
    """Rows of all combinations of entries of vectors."""
    tensors: list[TensorType] = args["tensors"]
    dtype = result_dtype(tensors)
    rows = 1
    for value in tensors:
        (size,) = value.get_shape()
        rows = DYNAMIC if size < 0 or rows < 0 else rows * size
    shape = (rows,) if len(tensors) == 1 else (rows, len(tensors))
    return [tensor(shape, dtype)]
