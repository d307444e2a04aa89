"""Ops whose result's shape depends on data, the numbers they give, and checks of these."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from lamina.dialects.errors import ExecutionError
from lamina.runtime.interpreters.aten_ops.registry import Call, interprets
from lamina.runtime.interpreters.values import Array


@interprets("nonzero", "argwhere")
def nonzero(a: Call) -> Array:
    """Rows of indices."""
    return np.argwhere(a["self"] != 0)


@interprets("nonzero_numpy", "where")
def nonzero_lists(a: Call) -> list[Array]:
    """A vector of indices for each dimension."""
    value = a["condition"] if a.has("condition") else a["self"]
    return list(np.nonzero(np.atleast_1d(value)))


@interprets("masked_select")
def masked_select(a: Call) -> Array:
    """Elements where a mask holds."""
    value, mask = np.broadcast_arrays(a["self"], a["mask"])
    return value[mask]


def _starts(rows: Array) -> Array:
    """Where a row differs from the one before it."""
    differs = (rows[1:] != rows[:-1]).any(axis=tuple(range(1, rows.ndim)))
    return np.concatenate([np.ones(min(len(rows), 1), bool), differs])


def _grouped(rows: Array) -> tuple[Array, Array, Array]:
    starts = _starts(rows)
    groups = np.cumsum(starts) - 1
    return rows[starts], groups, np.bincount(groups, minlength=int(starts.sum()))


def _given(a: Call, found: Array, inverse: Array, counts: Array) -> list[Array]:
    """All three, empty where they are not asked for and declared so."""
    results = [found, inverse, counts]
    for n in range(1, len(a.op.results)):
        shape = a.op.results[n].type.get_shape()
        if tuple(shape) == (0,) and results[n].shape != (0,):
            results[n] = np.zeros(0, np.int64)
    return results[: len(a.op.results)]


@interprets("_unique2", "_unique")
def unique(a: Call) -> list[Array]:
    """Elements in order, each once."""
    value: Array = a["self"]
    flat = value.reshape(-1)
    order = np.argsort(flat, kind="stable")
    found, groups, counts = _grouped(flat[order])
    inverse = np.empty(flat.shape, np.int64)
    inverse[order] = groups
    return _given(a, found, inverse.reshape(value.shape), counts)


@interprets("unique_consecutive", "unique_dim_consecutive")
def unique_consecutive(a: Call) -> list[Array]:
    """Runs of equal elements or slices, each once."""
    value: Array = a["self"]
    dim = a["dim"]
    if dim is None:
        found, groups, counts = _grouped(value.reshape(-1))
        return _given(a, found, groups.reshape(value.shape), counts)
    found, groups, counts = _grouped(np.moveaxis(value, dim, 0))
    return _given(a, np.moveaxis(found, 0, dim), groups, counts)


@interprets("unique_dim")
def unique_dim(a: Call) -> list[Array]:
    """Slices in lexicographic order, each once."""
    dim = a["dim"]
    rows = np.moveaxis(a["self"], dim, 0)
    columns = rows.reshape(len(rows), prod(rows.shape[1:]))
    order = np.lexsort(columns.T[::-1]) if columns.shape[1] else np.arange(len(rows))
    found, groups, counts = _grouped(rows[order])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = groups
    return _given(a, np.moveaxis(found, 0, dim), inverse, counts)


@interprets("bincount")
def bincount(a: Call) -> Array:
    """How often each number occurs, or sums of weights."""
    value: Array = a["self"]
    if value.size and value.min() < 0:
        raise ExecutionError("bincount: a number is negative")
    return np.bincount(value.astype(np.int64), a["weights"], int(a["minlength"]))


@interprets("repeat_interleave.Tensor")
def repeat_indices(a: Call) -> Array:
    """Each index as often as its number says."""
    repeats: Array = a["repeats"]
    return np.repeat(np.arange(len(repeats)), repeats)


@interprets("repeat_interleave.self_Tensor")
def repeat_interleave(a: Call) -> Array:
    """Each slice as often as its number says."""
    dim = a["dim"]
    return np.repeat(a["self"], a["repeats"], axis=dim)


@interprets("tensor_split.tensor_indices_or_sections")
def tensor_split(a: Call) -> list[Array]:
    """Parts between places, as Python slices count them."""
    value, places, dim = a["self"], a["tensor_indices_or_sections"], a["dim"]
    if not places.ndim:
        return np.array_split(value, int(places), dim)
    ends = [0, *map(int, places), value.shape[dim]]
    rows = np.moveaxis(value, dim, 0)
    return [np.moveaxis(rows[start:end], 0, dim) for start, end in pairwise(ends)]


@interprets("sym_size.int", "size.int")
def size(a: Call) -> int:
    """The size of a dimension."""
    return a["self"].shape[a["dim"]]


@interprets("sym_numel", "numel")
def numel(a: Call) -> int:
    """The number of elements."""
    return a["self"].size


@interprets("item", "_local_scalar_dense")
def item(a: Call) -> Any:
    """The only element."""
    return a["self"].item()


@interprets("_assert_scalar", "_assert_async", "_assert_async.msg")
def check(a: Call) -> tuple[Any, ...]:
    """What must hold."""
    if not np.all(a["self"]):
        raise ExecutionError(a.get("assert_msg") or "an assertion failed")
    return ()


@interprets("sym_constrain_range", "sym_constrain_range_for_size")
def constrain(a: Call) -> tuple[Any, ...]:
    """What is checked elsewhere."""
    return ()
