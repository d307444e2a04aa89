"""Gathers and scatters. Negative indices wrap; others out of range are errors, as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets
from lamina.runtime.interpreters.values import Array


@interprets("embedding")
def embedding(a: Call) -> Array:
    """Rows of the weight."""
    indices: Array = a["indices"]
    if indices.size and indices.min() < 0:
        raise IndexError("negative index in embedding")
    return a["weight"][indices]


@interprets("index_select")
def index_select(a: Call) -> Array:
    """Entries along one dimension."""
    x: Array = a["self"]
    if x.ndim == 0:
        return x
    return np.take(x, np.atleast_1d(a["index"]), axis=a["dim"])


@interprets("gather")
def gather(a: Call) -> Array:
    """One element for each index, which may have any rank if it holds none."""
    x, dim, index = a["self"], a["dim"], a["index"]
    if not index.size:
        return np.zeros(index.shape, x.dtype)
    return x[_along(index, dim)] if x.ndim else np.broadcast_to(x, index.shape)


def _along(index: Array, dim: int) -> tuple[Array, ...]:
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


@interprets("scatter.src", "scatter.value", "scatter_add", "scatter_reduce.two")
def scatter(a: Call) -> Array:
    """Elements written, added or otherwise combined at one index each."""
    x, dim, index = a["self"].copy(), a["dim"], a["index"]
    if x.ndim == 0:
        x, index = x.reshape(1), np.reshape(index, 1)
    if a.has("value"):
        source = np.full(index.shape, a["value"]).astype(x.dtype)
    else:
        source = np.reshape(a["src"], a["src"].shape or (1,))
        source = source[tuple(slice(0, n) for n in index.shape)]
    places = _along(index, dim)
    if a.name == "scatter_add.default":
        np.add.at(x, places, source)
    elif a.name == "scatter_reduce.two":
        _combine(x, places, source, a["reduce"], a["include_self"])
    else:
        x[places] = source
    return x.reshape(a.shape)


def _combine(
    x: Array, places: tuple[Array, ...], source: Array, reduce: str, include_self: bool
) -> None:
    if x.dtype == np.bool_:
        # Sums and the largest are disjunctions, the others conjunctions.
        either = reduce in ("sum", "amax")
        if not include_self:
            x[places] = not either
        (np.logical_or if either else np.logical_and).at(x, places, source)
        return
    identity: dict[str, Any] = {
        "sum": 0,
        "mean": 0,
        "prod": 1,
        "amax": -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min,
        "amin": np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max,
    }
    if not include_self:
        x[places] = identity[reduce]
    functions = {"sum": np.add, "mean": np.add, "prod": np.multiply}
    functions.update({"amax": np.maximum, "amin": np.minimum})
    functions[reduce].at(x, places, source)
    if reduce == "mean":
        counts = np.full(x.shape, 1 if include_self else 0, np.int64)
        np.add.at(counts, places, 1)
        counts = np.maximum(counts, 1)
        x[...] = x / counts if x.dtype.kind == "f" else x // counts


def advanced_index(indices: list[Any], rank: int) -> tuple[Any, ...]:
    """torch's list of optional index tensors as a NumPy index."""
    return tuple(slice(None) if index is None else index for index in indices)


@interprets("index.Tensor", "_unsafe_index.Tensor")
def index(a: Call) -> Array:
    """Advanced indexing, as NumPy's."""
    x: Array = a["self"]
    return x[advanced_index(a["indices"], x.ndim)]


@interprets("index_put")
def index_put(a: Call) -> Array:
    """Elements written or added at advanced indices."""
    x = a["self"].copy()
    place = advanced_index(a["indices"], x.ndim)
    if a["accumulate"]:
        np.add.at(x, place, a["values"])
    else:
        x[place] = a["values"]
    return x


@interprets("masked_scatter")
def masked_scatter(a: Call) -> Array:
    """Source elements in order, where the mask is true."""
    x: Array = np.broadcast_to(a["self"], a.shape).copy()
    mask = np.broadcast_to(a["mask"], x.shape)
    x[mask] = a["source"].reshape(-1)[: int(mask.sum())]
    return x
