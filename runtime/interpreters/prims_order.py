"""NumPy functions of the primitives that scatter, sort and scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call
from lamina.runtime.interpreters.values import Array

JOIN: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _checked(index: Array, extent: int) -> Array:
    if index.size and (index.min() < 0 or index.max() >= extent):
        raise IndexError(f"index outside [0, {extent})")
    return index


def _join(result: Array, where: tuple[Any, ...], values: Array, combiner: str) -> Array:
    """One value after the other, so that repeated places meet all of theirs."""
    if combiner == "store":
        result[where] = values
    elif result.dtype == np.bool_:
        function = np.logical_and if combiner in ("mul", "min") else np.logical_or
        function.at(result, where, values)
    else:
        JOIN[combiner].at(result, where, values)
    return result


def put(a: Call) -> Array:
    """The inverse of take."""
    result, index, dim = np.array(a["a"]), a["index"], a["dim"]
    where = (slice(None),) * dim + (_checked(index, result.shape[dim]),)
    return _join(result, where, a["values"], a["combiner"])


def scatter(a: Call) -> Array:
    """The inverse of gather."""
    result, index, dim = np.array(a["a"]), a["index"], a["dim"]
    where: list[Any] = list(np.indices(index.shape, sparse=True))
    where[dim] = _checked(index, result.shape[dim])
    return _join(result, tuple(where), a["values"], a["combiner"])


def order_of(x: Array, descending: bool) -> Array:
    """Places of the sorted elements along the last dimension; stable, NaN largest."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    turned = np.argsort(np.flip(x, -1), axis=-1, kind="stable")
    return x.shape[-1] - 1 - np.flip(turned, -1)


def sort(a: Call) -> list[Array]:
    """Values and places."""
    return _sorted(a["a"], a["dim"], a["descending"])


def _sorted(x: Array, dim: int, descending: bool) -> list[Array]:
    rows = np.moveaxis(x, dim, -1)
    order = order_of(rows, descending)
    made = [np.take_along_axis(rows, order, -1), order]
    return [np.moveaxis(m, -1, dim) for m in made]


def topk(a: Call) -> list[Array]:
    """The first k values and places."""
    return [np.take(made, range(a["k"]), a["dim"]) for made in sort(a)]


def kthvalue(a: Call) -> list[Array]:
    """Value and place number k."""
    return [np.take(one, [a["k"]], a["dim"]) for one in _sorted(a["a"], a["dim"], False)]


def scan_extreme(a: Call) -> list[Array]:
    """The extreme so far, and its last place."""
    x = np.moveaxis(a["a"], a["dim"], -1)
    best = (np.maximum if a["combiner"] == "max" else np.minimum).accumulate(x, -1)
    here = (x == best) | (x != x)
    places = np.maximum.accumulate(np.where(here, np.arange(x.shape[-1]), 0), -1)
    return [np.moveaxis(m, -1, a["dim"]) for m in (best, places)]


def segment_sum(a: Call) -> Array:
    """The sum of the rows of each segment, one after the other."""
    x = a["a"]
    wide = x.astype(np.result_type(x.dtype, np.float32)) if x.dtype.itemsize < 4 else x
    if x.dtype.kind in "biu":
        wide = x
    scale = None if a["scale"] is None else a["scale"].astype(wide.dtype)
    result = np.zeros(a.shape, wide.dtype)
    for segment, at, row in _positions(a):
        result[segment] += wide[row] if scale is None else wide[row] * scale[at]
    return result


def segment_max(a: Call) -> list[Array]:
    """The largest of the rows of each segment; a NaN stays where it comes first."""
    x, offsets = a["a"], a["offsets"]
    shape = (len(offsets) - 1, *x.shape[1:])
    best, place = np.zeros(shape, x.dtype), np.zeros(shape, a["index"].dtype)
    begun: set[int] = set()
    for segment, _, row in _positions(a):
        taken = (x[row] > best[segment]) | (segment not in begun)
        best[segment] = np.where(taken, x[row], best[segment])
        place[segment] = np.where(taken, row, place[segment])
        begun.add(segment)
    return [best, place]


def _positions(a: Call) -> Iterator[tuple[int, int, int]]:
    """(segment, position, row) of all that is not left out, in order."""
    index, offsets = _checked(a["index"], len(a["a"])), a["offsets"]
    if (np.diff(offsets) < 0).any() or offsets[0] < 0 or offsets[-1] > len(index):
        raise IndexError(f"offsets of segments must not fall, and lie between 0 and {len(index)}")
    for segment in range(len(offsets) - 1):
        for at in range(offsets[segment], offsets[segment + 1]):
            if index[at] != a["skipped"]:
                yield segment, at, index[at]


def searchsorted(a: Call) -> Array:
    """How many elements go before each value, found by halves: rows with NaN are not in order."""
    rows, values = a["sorted"], a["values"]
    rows = rows.reshape(*rows.shape[:-1], *[1] * (rows.ndim > 1), rows.shape[-1])
    rows = np.broadcast_to(rows, (*values.shape, rows.shape[-1]))
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, rows.shape[-1], np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        at = np.minimum(middle, rows.shape[-1] - 1)
        element = np.take_along_axis(rows, at[..., None], -1)[..., 0]
        before = ~(element > values) if a["right"] else ~(element >= values)
        low = np.where(before & (low < high), middle + 1, low)
        high = np.where(before, high, middle)
    return low


def window_index(a: Call) -> Array:
    """Place of the first largest, or of the last NaN, in each window."""
    x, dims = a["a"], len(a["window"])
    shape = x.shape[-dims:]
    result = np.zeros(a.shape, np.int64)
    for at in np.ndindex(a.shape):
        spans: list[list[int]] = []
        for p, extent in enumerate(shape):
            first = at[len(at) - dims + p] * a["stride"][p] - a["padding"][p]
            steps = (first + k * a["dilation"][p] for k in range(a["window"][p]))
            spans.append([s for s in steps if 0 <= s < extent])
        block = x[at[:-dims]][np.ix_(*spans)].ravel()
        flat = np.ravel_multi_index(np.ix_(*spans), shape).ravel()
        nan = np.flatnonzero(block != block)
        result[at] = flat[nan[-1] if len(nan) else block.argmax()]
    return result


FUNCTIONS: dict[str, Callable[[Call], Any]] = {
    "kthvalue": kthvalue,
    "put": put,
    "scan_extreme": scan_extreme,
    "scatter": scatter,
    "searchsorted": searchsorted,
    "segment_max": segment_max,
    "segment_sum": segment_sum,
    "sort": sort,
    "topk": topk,
    "window_index": window_index,
}
