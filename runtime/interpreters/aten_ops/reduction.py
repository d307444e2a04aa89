"""Reductions, accumulated in f64 for floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets, wide
from lamina.runtime.interpreters.values import Array, greatest, least


def axes(dim: Any, rank: int) -> tuple[int, ...]:
    """Reduced axes: None and [] mean all."""
    if dim is None or dim == []:
        return tuple(range(rank))
    dims = [dim] if isinstance(dim, int) else dim
    return tuple(d % rank for d in dims) if rank else ()


def _reduce(a: Call, function: Callable[..., Any], x: Array, **extra: Any) -> Array:
    return function(
        x, axis=axes(a.get("dim"), x.ndim), keepdims=bool(a.get("keepdim", False)), **extra
    )


def _mean(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The mean, which is NaN of no elements; NumPy's own warns of that."""
    count = np.prod([x.shape[d] for d in axis])
    return x.sum(axis=axis, keepdims=keepdims) / count


@interprets("sum.dim_IntList", "sum", "mean", "mean.dim", "nansum")
def sum_(a: Call) -> Array:
    """Sum or mean."""
    x = wide(a["self"] if a.dtype.kind in "fc" else a.cast("self"))
    function = {"sum": np.sum, "nan": np.nansum, "mea": _mean}[a.name[:3]]
    return _reduce(a, function, x if x.dtype.kind in "fc" or a.dtype.kind != "f" else x * 1.0)


@interprets("prod", "prod.dim_int")
def prod(a: Call) -> Array:
    """Product."""
    return _reduce(a, np.prod, wide(a.cast("self")))


@interprets("amax", "amin", "max", "min")
def extremum(a: Call) -> Array:
    """Largest or smallest; NaN wins."""
    return _reduce(a, greatest if "max" in a.name else least, a["self"])


def _best(a: Call, greatest: bool) -> tuple[Array, Array]:
    x: Array = a["self"]
    dim = a.get("dim")
    if dim is None:
        flat = x.reshape(-1)
        index = flat.argmax() if greatest else flat.argmin()
        shape = (1,) * x.ndim if a.get("keepdim") else ()
        return flat[index].reshape(shape), np.asarray(index).reshape(shape)
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    index = x.argmax(dim, keepdims=True) if greatest else x.argmin(dim, keepdims=True)
    value = np.take_along_axis(x, index, dim)
    if not a.get("keepdim"):
        value, index = value.squeeze(dim), index.squeeze(dim)
    return value, index


@interprets("max.dim", "min.dim")
def extremum_with_index(a: Call) -> tuple[Array, Array]:
    """Value and its first index."""
    return _best(a, "max" in a.name)


@interprets("argmax", "argmin")
def index_of_extremum(a: Call) -> Array:
    """The first index."""
    return _best(a, "max" in a.name)[1]


@interprets("any", "any.dim", "any.dims", "all", "all.dim", "all.dims")
def any_(a: Call) -> Array:
    """Logical reduction."""
    return _reduce(a, np.any if a.name.startswith("any") else np.all, a["self"] != 0)


@interprets("var.correction", "var.dim", "var", "std", "std.dim", "std.correction")
def var(a: Call) -> Array:
    """Variance or its root."""
    x = wide(a["self"])
    if a.has("unbiased"):
        correction = 1 if a["unbiased"] else 0
    else:
        correction = 1 if a["correction"] is None else a["correction"]
    result = variance(x, axes(a.get("dim"), x.ndim), correction, bool(a.get("keepdim")))
    return np.sqrt(result) if a.name.startswith("std") else result


def variance(x: Array, axis: tuple[int, ...], correction: float, keepdims: bool) -> Array:
    """Sum of squared distances from the mean, divided by max(0, count - correction)."""
    count = np.prod([x.shape[d] for d in axis])
    distance: Any = x - _mean(x, axis, keepdims=True)
    total = (distance * np.conj(distance)).real.sum(axis=axis, keepdims=keepdims)
    return total / np.maximum(count - correction, 0)


@interprets("cumsum")
def cumsum(a: Call) -> Array:
    """Running sum from 0, so that none is -0.0; a tensor of rank 0 is its own."""
    x = wide(a.cast("self"))
    return x if x.ndim == 0 else np.cumsum(x, a["dim"]) + x.dtype.type(0)


@interprets("sort", "sort.stable", "argsort", "argsort.stable")
def sort(a: Call) -> Any:
    """Stable; NaN counts as largest."""
    x: Array = a["self"]
    values, order = sorted_with_indices(x, a["dim"], a["descending"])
    return order if a.name.startswith("arg") else (values, order)


def sorted_with_indices(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """Values and their former positions; equal values keep their order."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    if descending:
        flipped = np.flip(x, dim)
        order = np.flip(np.argsort(flipped, dim, kind="stable"), dim)
        order = x.shape[dim] - 1 - order
    else:
        order = np.argsort(x, dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


@interprets("topk")
def topk(a: Call) -> tuple[Array, Array]:
    """The k largest or smallest, sorted."""
    x: Array = a["self"]
    values, order = sorted_with_indices(x, a["dim"], a["largest"])
    if x.ndim == 0:
        return values, order
    keep = np.arange(a["k"])
    return values.take(keep, a["dim"]), order.take(keep, a["dim"])


@interprets("linalg_vector_norm")
def vector_norm(a: Call) -> Array:
    """(sum |x|^p)^(1/p)."""
    x = np.abs(wide(a["self"]))
    axis, keep, order = axes(a["dim"], x.ndim), a["keepdim"], a["ord"]
    if order in (np.inf, -np.inf):
        return (np.max if order > 0 else np.min)(x, axis=axis, keepdims=keep)
    if order == 0:
        return (x != 0).sum(axis=axis, keepdims=keep)
    return (x**order).sum(axis=axis, keepdims=keep) ** (1 / order)
