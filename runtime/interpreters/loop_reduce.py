"""Reductions of a nest over NumPy: identities, and joining values over a domain into results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.monoid import Monoid, Reduction
from lamina.runtime.interpreters.loop_access import evaluate_expr
from lamina.runtime.interpreters.loop_body import REDUCE, evaluate
from lamina.runtime.interpreters.values import is_floating, numpy_dtype


def identities(op: GenericOp) -> list[Any]:
    """For each result the element that its combiner ignores; 0 for what is stored."""
    dtypes = [numpy_dtype(element_type(kind)) for kind in op.written_types]
    found: list[Any] = [dtype.type(0) for dtype in dtypes]
    for results, combiner, monoid in op.reductions:
        for place, number in enumerate(results):
            dtype = dtypes[number]
            if monoid is None:
                found[number] = identity(combiner, dtype)
            else:
                given = monoid.identities[place]
                assert isinstance(given, FloatAttr | IntegerAttr)  # as verified
                found[number] = np.asarray(given.value.data).astype(dtype)
    return found


def identity(combiner: str, dtype: Any) -> Any:
    """The element that a named combiner ignores."""
    if combiner in ("store", "add", "or"):
        return dtype.type(0)
    if combiner == "mul":
        return dtype.type(1)
    if combiner == "and":
        return np.invert(np.zeros((), dtype))
    if is_floating(dtype):
        return dtype.type(-np.inf if combiner == "max" else np.inf)
    if dtype.kind == "b":
        return dtype.type(combiner == "min")
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    lowest = -(1 << bits) if dtype.kind == "i" else 0
    return dtype.type(lowest if combiner == "max" else (1 << bits) - 1)


def combined(monoid: Monoid, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """What the combining region makes of two tuples of arrays, element by element."""
    values: dict[SSAValue, Any] = dict(zip(monoid.block.args, (*left, *right), strict=True))
    for op in monoid.ops:
        values[op.results[0]] = evaluate(op, [values[operand] for operand in op.operands])
    shape = np.broadcast_shapes(*(np.shape(value) for value in (*left, *right)))
    return [np.broadcast_to(values[value], shape) for value in monoid.yielded]


def write(op: GenericOp, results: list[Any], values: list[Any], grid: dict[int, Any]) -> None:
    """Combine values over the domain, one array for each result, into the results, in place."""
    names = op.combiner_names
    stores = [Reduction((n,), name) for n, name in enumerate(names) if name == "store"]
    for reduction in (*stores, *op.reductions):
        made = [values[number] for number in reduction.results]
        index_map = op.write_maps[reduction.results[0]]
        rank = made[0].ndim
        rest = tuple(d for d in range(rank) if d not in index_map.used_dims())
        if reduction.combiner != "store" and rest:
            made = _reduced(reduction, made, [results[n].dtype for n in reduction.results], rest)
        places: list[Any] = []
        for place, number in enumerate(reduction.results):
            indices = [evaluate_expr(e, grid) for e in op.write_maps[number].results]
            # Dimensions outside the map are 1 now: reduced, or of extent 1.
            shape = made[place].shape
            places.append(tuple(np.broadcast_to(index, shape) for index in indices) or ...)
            made[place] = made[place] if indices else made[place].reshape(())
        if reduction.combiner != "store":
            before = [results[n][where] for n, where in zip(reduction.results, places, strict=True)]
            made = _joined(reduction, before, made)
        for number, where, value in zip(reduction.results, places, made, strict=True):
            results[number][where] = value


def _joined(reduction: Reduction, left: list[Any], right: list[Any]) -> list[Any]:
    if reduction.monoid is not None:
        return combined(reduction.monoid, left, right)
    return [REDUCE[reduction.combiner](left[0], right[0])]


def _reduced(
    reduction: Reduction, values: list[Any], dtypes: list[Any], axes: tuple[int, ...]
) -> list[Any]:
    """Values joined over these axes, which are left with extent 1."""
    if reduction.monoid is None:
        reduce = REDUCE[reduction.combiner].reduce
        return [reduce(values[0], axis=axes, dtype=dtypes[0], keepdims=True)]
    kept = [1 if d in axes else e for d, e in enumerate(values[0].shape)]
    order = [*(d for d in range(values[0].ndim) if d not in axes), *axes]
    lines = [v.transpose(order).reshape(*(e for e in kept if e != 1), -1) for v in values]
    while (length := lines[0].shape[-1]) > 1:
        half = length // 2
        pairs = [line[..., :half] for line in lines], [line[..., half : 2 * half] for line in lines]
        joined = combined(reduction.monoid, *pairs)
        odd = [line[..., 2 * half :] for line in lines]
        lines = [np.concatenate(both, -1) for both in zip(joined, odd, strict=True)]
    return [line.reshape(kept) for line in lines]


__all__ = ["combined", "identities", "identity", "write"]
