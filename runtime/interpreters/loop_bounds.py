"""Nests with bounds: nothing is added up outside of them, and nobody may read what is kept there.

What stands outside the bounds of a dimension that a nest keeps is NaN here, so that a bound that is
not true shows in the results. Bounds that are numbers of a call are left aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter
from xdsl.ir.affine import AffineExpr, AffineSymExpr

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import BOUNDS, BoundsAttr, cut_of
from lamina.dialects.loop.counted_dims import kernel_of
from lamina.runtime.interpreters.loop_access import evaluate_expr
from lamina.runtime.interpreters.values import is_floating


def outside(op: GenericOp, grid: Mapping[int, Any]) -> Any:
    """Where the points of a domain are outside the bounds, to broadcast over it; None if nowhere.

    One position of each row is inside, whatever the bounds say.
    """
    bounds = op.attributes.get(BOUNDS)
    if not isinstance(bounds, BoundsAttr):
        return None
    dim = bounds.dim.value.data
    at, extent = grid[dim], op.extents[dim]
    low, high = np.asarray(0), np.asarray(extent)
    for expr in filter(_is_known, bounds.lower.data.results):
        low = np.maximum(low, evaluate_expr(expr, dict(grid)))
    for expr in filter(_is_known, bounds.upper.data.results):
        high = np.minimum(high, evaluate_expr(expr, dict(grid)))
    low = np.minimum(low, extent - 1)
    return (at < low) | (at >= np.maximum(high, low + 1))


def _is_known(expr: AffineExpr) -> bool:
    return not any(isinstance(part, AffineSymExpr) for part in expr.dfs())


def bounded_dim(op: GenericOp) -> int | None:
    """The dimension of a nest that has bounds."""
    bounds = op.attributes.get(BOUNDS)
    return bounds.dim.value.data if isinstance(bounds, BoundsAttr) else None


def cut_at(op: GenericOp, interpreter: Interpreter) -> int | None:
    """How many terms a sum has that is cut at a number of the call, an argument of its kernel."""
    cut, kernel = cut_of(op), kernel_of(op)
    block = None if kernel is None else kernel.regions[0].first_block
    if cut is None or block is None:
        return None
    (number,) = interpreter.get_values((block.args[cut[1]],))
    return int(number)


def behind(op: GenericOp, grid: Mapping[int, Any], terms: int) -> Any:
    """Where the points of a domain are behind so many terms of a sum that is cut."""
    cut = cut_of(op)
    assert cut is not None
    return grid[cut[0]] >= terms


def leave_out(op: GenericOp, number: int, values: Any, identity: Any, where: Any) -> None:
    """Put what changes nothing in the place of values, over the domain, that are outside."""
    left_out = np.broadcast_to(where, values.shape)
    if op.combiner_names[number] != "store":
        values[left_out] = identity
    elif is_floating(values.dtype):
        values[left_out] = np.nan


__all__ = ["behind", "bounded_dim", "cut_at", "leave_out", "outside"]
