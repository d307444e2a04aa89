"""Ops that rearrange elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets
from lamina.runtime.interpreters.values import Array


@interprets("view", "reshape", "_unsafe_view", "flatten.using_ints", "unflatten.int", "view_as")
@interprets("squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze", "reshape_as")
def reshape(a: Call) -> Array:
    """The result's shape; its extents are part of the type."""
    x: Array = a["self"]
    return x.reshape(a.shape)


@interprets("permute")
def permute(a: Call) -> Array:
    """Dimensions in another order."""
    return np.transpose(a["self"], a["dims"])


@interprets("transpose.int")
def transpose(a: Call) -> Array:
    """Two dimensions swapped."""
    x: Array = a["self"]
    return x if x.ndim == 0 else np.swapaxes(x, a["dim0"], a["dim1"])


@interprets("t")
def t(a: Call) -> Array:
    """A matrix transposed."""
    return np.transpose(a["self"])


@interprets("expand", "expand_as", "broadcast_to")
def expand(a: Call) -> Array:
    """Broadcast to the result's shape."""
    return np.broadcast_to(a["self"], a.shape)


def slice_of(rank: int, dim: int, start: Any, end: Any, step: int) -> tuple[slice, ...]:
    """An index that slices one dimension."""
    index = [slice(None)] * rank
    index[dim] = slice(start, end, step)
    return tuple(index)


@interprets("slice.Tensor")
def slice_(a: Call) -> Array:
    """start:end:step along one dimension."""
    x: Array = a["self"]
    return x[slice_of(x.ndim, a["dim"], a["start"], a["end"], a["step"])]


@interprets("slice_scatter")
def slice_scatter(a: Call) -> Array:
    """src in place of a slice."""
    x = a["self"].copy()
    x[slice_of(x.ndim, a["dim"], a["start"], a["end"], a["step"])] = a["src"]
    return x


@interprets("select.int")
def select(a: Call) -> Array:
    """One index of a dimension."""
    return np.take(a["self"], a["index"], axis=a["dim"])


@interprets("select_scatter")
def select_scatter(a: Call) -> Array:
    """src in place of one index."""
    x = a["self"].copy()
    index: list[Any] = [slice(None)] * x.ndim
    index[a["dim"]] = a["index"]
    x[tuple(index)] = a["src"]
    return x


@interprets("cat")
def cat(a: Call) -> Array:
    """Joined along a dimension; the old empty vector is skipped."""
    tensors = [x.astype(a.dtype) for x in a["tensors"] if x.shape != (0,) or len(a.shape) == 1]
    return np.concatenate(tensors, axis=a["dim"])


@interprets("stack")
def stack(a: Call) -> Array:
    """Joined along a new dimension."""
    return np.stack([x.astype(a.dtype) for x in a["tensors"]], axis=a["dim"])


@interprets("split_with_sizes", "split.Tensor", "chunk")
def split(a: Call) -> list[Array]:
    """Pieces of the results' extents."""
    x, dim = a["self"], a["dim"]
    sizes = [result.type.get_shape()[dim] for result in a.op.results]
    return np.split(x, np.cumsum(sizes)[:-1], axis=dim)


@interprets("unbind.int")
def unbind(a: Call) -> list[Array]:
    """One piece for each index."""
    return list(np.moveaxis(a["self"], a["dim"], 0))


@interprets("repeat")
def repeat(a: Call) -> Array:
    """Copies along each dimension."""
    return np.tile(a["self"], a["repeats"])


@interprets("flip")
def flip(a: Call) -> Array:
    """Dimensions reversed."""
    x: Array = a["self"]
    return np.flip(x, tuple(a["dims"])) if x.ndim else x


@interprets("diagonal")
def diagonal(a: Call) -> Array:
    """A diagonal, as the last dimension."""
    return np.diagonal(a["self"], a["offset"], a["dim1"], a["dim2"])


@interprets("tril", "triu")
def triangle(a: Call) -> Array:
    """A triangle; the rest is 0."""
    return (np.tril if a.name.startswith("tril") else np.triu)(a["self"], a["diagonal"])


def pad_widths(pad: list[int], rank: int) -> list[tuple[int, int]]:
    """torch's flat list, last dimension first, as NumPy's pairs."""
    widths = [(0, 0)] * rank
    for position in range(len(pad) // 2):
        widths[rank - 1 - position] = (pad[2 * position], pad[2 * position + 1])
    return widths


@interprets("constant_pad_nd")
def constant_pad(a: Call) -> Array:
    """A border of one value; negative widths cut."""
    x: Array = a["self"]
    widths = pad_widths(a["pad"], x.ndim)
    cut = tuple(
        slice(max(-low, 0), extent - max(-high, 0))
        for (low, high), extent in zip(widths, x.shape, strict=True)
    )
    positive = [(max(low, 0), max(high, 0)) for low, high in widths]
    return np.pad(x[cut], positive, constant_values=np.asarray(a["value"]).astype(x.dtype))


@interprets("view_as_real")
def view_as_real(a: Call) -> Array:
    """The parts along a new last dimension."""
    return np.stack([a["self"].real, a["self"].imag], axis=-1)


@interprets("view_as_complex")
def view_as_complex(a: Call) -> Array:
    """Pairs along the last dimension as numbers."""
    made = np.empty(a.shape, a.dtype)
    made.real, made.imag = a["self"][..., 0], a["self"][..., 1]
    return made


@interprets(*(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)))
def other_pad(a: Call) -> Array:
    """A border of mirrored or repeated elements; negative amounts cut."""
    mode = "reflect" if a.name.startswith("reflection") else "edge"
    widths = pad_widths(a["padding"], a["self"].ndim)
    added = [(max(low, 0), max(high, 0)) for low, high in widths]
    made = np.pad(a["self"], added, mode=mode)  # pyright: ignore
    cut = [
        slice(max(-low, 0), extent + min(high, 0))
        for (low, high), extent in zip(widths, made.shape, strict=True)
    ]
    return made[tuple(cut)]


@interprets("as_strided")
def as_strided(a: Call) -> Array:
    """Elements of the flat (contiguous) tensor by size and stride."""
    flat: Array = a["self"].reshape(-1)
    index = np.full((), a["storage_offset"] or 0, np.int64)
    for extent, stride in zip(a["size"], a["stride"], strict=True):
        index = index[..., None] + np.arange(extent) * stride
    return flat[index]
