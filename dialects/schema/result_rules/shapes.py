"""Shapes in result rules: building tensor types, dims, broadcasting, element counts.

A dim known only at run time is `DYNAMIC`, in types as in size arguments; rules may also be asked
with a `Size` in the place of a number (see `lamina.dialects.sizes`). Every error is a
ValueError whose text tells the operands apart, since it becomes the verifier's message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, TensorType
from xdsl.ir import Attribute

from lamina.dialects.sizes import Extent

Args: TypeAlias = Mapping[str, Any]
Types: TypeAlias = list[Attribute]
Shape: TypeAlias = tuple[int, ...]

DYNAMIC = DYNAMIC_INDEX


@lru_cache(8192)
def _make(shape: Shape, dtype: Attribute) -> TensorType:
    return TensorType(dtype, [size if isinstance(size, int) else IntAttr(size) for size in shape])


def tensor(shape: Iterable[int], dtype: Attribute) -> TensorType:
    """The (shared) tensor type of a shape and an element type."""
    return _make(tuple(shape), dtype)


def is_dynamic(size: int) -> bool:
    """Whether a size is known only at run time; a negative size argument says so as well."""
    return size < 0


def size_or_dynamic(size: int) -> int:
    """A size argument as a dim of a type."""
    return DYNAMIC if size < 0 else size


def known_shape(sizes: Iterable[int]) -> Shape:
    """Size arguments as dims of a type."""
    return tuple(DYNAMIC if size < 0 else size for size in sizes)


def static(shape: Iterable[int]) -> bool:
    """Whether every dim is known."""
    return all(size >= 0 for size in shape)


def show(shape: Iterable[Extent]) -> str:
    """A shape for messages: `[2, ?, 3]`."""
    return "[" + ", ".join("?" if size == DYNAMIC else str(size) for size in shape) + "]"


def count(shape: Iterable[int]) -> int:
    """Number of elements; DYNAMIC if a dim is unknown (unless another is 0)."""
    product, unknown = 1, False
    for size in shape:
        if size < 0:
            unknown = True
        else:
            product *= size
    return DYNAMIC if unknown and product else product


def wrap_dim(dim: int, rank: int, name: str = "dim") -> int:
    """A dim from 0; 0-d tensors take 0 and -1 as well."""
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise ValueError(f"{name} {dim} is out of range for a tensor of rank {rank}")
    return dim + limit if dim < 0 else dim


def wrap_dims(dims: Sequence[int], rank: int, name: str = "dim") -> list[int]:
    """Dims from 0, each at most once."""
    wrapped = [wrap_dim(dim, rank, name) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        raise ValueError(f"{name} {list(dims)} names a dim twice")
    return wrapped


def same_size(a: int, b: int) -> bool:
    """Whether two dims may be equal."""
    return a == b or a < 0 or b < 0


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes may be equal."""
    return a == b or (len(a) == len(b) and all(map(same_size, a, b)))


def merge_size(a: int, b: int) -> int:
    """The better known of two dims that are equal."""
    return b if a < 0 else a


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all broadcast to. Raises ValueError naming the shapes."""
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for place, size in enumerate(shape, offset):
            have = result[place]
            if have == size or size == 1:
                continue
            if have == 1 or have < 0:
                result[place] = size
            elif size >= 0:
                listed = " and ".join(map(show, shapes))
                raise ValueError(f"shapes {listed} do not broadcast together")
    return tuple(result)


def need_rank(value: TensorType, rank: int | tuple[int, ...], name: str) -> Shape:
    """The shape of a tensor that must have one of the ranks."""
    shape = value.get_shape()
    ranks = (rank,) if isinstance(rank, int) else rank
    if len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"'{name}' must have rank {wanted}, got {value}")
    return shape


def repeat_to(values: Sequence[int] | int, rank: int, name: str) -> list[int]:
    """An int-list argument with one entry for each spatial dim; one entry stands for all."""
    given = [values] if isinstance(values, int) else list(values)
    if len(given) == 1:
        return given * rank
    if len(given) != rank:
        raise ValueError(f"'{name}' needs 1 or {rank} entries, got {given}")
    return given


def first_tensor(args: Args) -> TensorType:
    """The first tensor argument, which is `self` under whatever name."""
    for value in args.values():
        if isinstance(value, TensorType):
            return value
        if isinstance(value, list) and value and isinstance(value[0], TensorType):
            return value[0]
    raise ValueError("no tensor among the arguments")
