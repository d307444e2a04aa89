"""Reads of the loop layer over NumPy: index arrays, index maps and indirect reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from lamina.dialects.errors import ExecutionError
from lamina.dialects.loop import ReadOp
from lamina.dialects.loop.body_ops import out_of_range
from lamina.dialects.loop.slices import Slice


def grids(extents: Sequence[int], low: int, high: int) -> dict[int, Any]:
    """An index array for each dimension, shaped to broadcast over the domain."""
    rank = len(extents)
    grid: dict[int, Any] = {}
    for dim, extent in enumerate(extents):
        run = np.arange(low, high) if dim == 0 else np.arange(extent)
        grid[dim] = run.reshape([-1 if p == dim else 1 for p in range(rank)])
    return grid


def slice_grids(
    extents: Sequence[int], slices: Sequence[Slice], indices: Sequence[int]
) -> dict[int, Any]:
    """An index array for each dimension, over the slices of the domain that begin at the first of
    `indices`; the others are their steps, of those that have no number for it.

    Dimensions that are walked as one vary along one axis. Raises ExecutionError for a slice that
    begins outside.
    """
    rank = len(extents)
    runs = {dim: (dim, np.arange(extent)) for dim, extent in enumerate(extents)}
    steps = iter(indices[len(slices) :])
    for entry, start in zip(slices, indices[: len(slices)], strict=True):
        extent = entry.extent(extents)
        if not 0 <= start < extent:
            raise ExecutionError(f"slice of {entry.name}: begins at {start}, there are {extent}")
        step = int(next(steps)) if entry.step is None else entry.step
        places = int(start) + step * np.arange(entry.size)
        places = np.unravel_index(places[places < extent], [extents[d] for d in entry.dims])
        axis = max(entry.dims, key=lambda d: (extents[d] != 1, entry.dims.index(d)))
        for dim, run in zip(entry.dims, places, strict=True):
            runs[dim] = axis, run
    return {
        dim: run.reshape([-1 if p == axis else 1 for p in range(rank)])
        for dim, (axis, run) in runs.items()
    }


def evaluate_expr(expr: AffineExpr, grid: dict[int, Any]) -> Any:
    """An affine expression over index arrays."""
    match expr:
        case AffineConstantExpr():
            return np.asarray(expr.value)
        case AffineDimExpr():
            return grid[expr.position]
        case AffineBinaryOpExpr():
            left, right = evaluate_expr(expr.lhs, grid), evaluate_expr(expr.rhs, grid)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
                case AffineBinaryOpKind.Mod:
                    return left % right
        case _:
            raise ValueError(f"no value for {expr}")


def read(value: Any, index_map: AffineMap, pad: Attribute | None, grid: dict[int, Any]) -> Any:
    """The elements that a map reads over index arrays; `pad` outside of the tensor."""
    indices = [evaluate_expr(e, grid) for e in index_map.results]
    if not indices:
        return value
    if pad is None:
        return value[tuple(indices)]
    assert isinstance(pad, FloatAttr | IntegerAttr)
    inside = np.asarray(True)
    safe: list[Any] = []
    for index, extent in zip(indices, value.shape, strict=True):
        fits = (index >= 0) & (index < extent)
        inside = inside & fits
        safe.append(np.where(fits, index, 0))
    fill = np.asarray(pad.value.data).astype(value.dtype)
    if 0 in value.shape:
        return np.broadcast_to(fill, inside.shape)
    return np.where(inside, value[tuple(safe)], fill)


def indirect(op: ReadOp, values: dict[SSAValue, Any]) -> Any:
    """What `loop.read` finds. Raises ExecutionError for an index outside of the source."""
    source = values[op.source]
    indices = [np.asarray(values[i]) for i in op.indices]
    for index, extent, limit in zip(indices, source.shape, op.limit_of_each, strict=True):
        end = extent if limit is None else np.clip(values[limit], 1, extent)
        if np.any((index < 0) | (index >= end)):
            raise ExecutionError(out_of_range(extent, is_limited=limit is not None))
    return source[tuple(indices)]
