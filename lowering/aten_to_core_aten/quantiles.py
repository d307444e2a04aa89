"""Quantiles: numbers between neighbours in sorted rows (aten/src/ATen/native/Sorting.cpp)."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, normalized, numel, rank_of, shape_of

_ROUNDING = {"lower": "floor", "higher": "ceil", "nearest": "round"}


@lowers("quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar")
def quantile(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """For each q the element of that rank; NaN in a row makes it NaN, or is left out."""
    x, mode = op.arg("self"), op.arg("interpolation")
    if mode not in (*_ROUNDING, "linear", "midpoint"):
        raise b.refuse(f"interpolation '{mode}'", "linear, lower, higher, midpoint, nearest")
    rows = _rows(op, b, x)
    ordered = b.op("sort", rows, -1).results[0]
    ranks = _ranks(op, b, ordered)
    if mode in _ROUNDING:
        found = b("gather", ordered, -1, b.cast(b(_ROUNDING[mode], ranks), i64))
    else:
        found = _between(b, ordered, ranks, mode == "midpoint")
    last = rank_of(found) - 1
    found = b.permute(found, [last, *range(last)])
    return b.view(found, shape_of(op.results[0]))


def _rows(op: SchemaOp, b: CoreBuilder, x: SSAValue) -> SSAValue:
    """What is to be sorted as the last dimension."""
    dim = op.arg("dim")
    if dim is None or rank_of(x) == 0:
        return b.view(x, [numel(x)])
    dim = normalized(dim, rank_of(x))
    rest = [d for d in range(rank_of(x)) if d != dim]
    return b.permute(x, [*rest, dim])


def _ranks(op: SchemaOp, b: CoreBuilder, ordered: SSAValue) -> SSAValue:
    """Positions in each row as floats, one for each q, in a new last dimension.

    NaN is sorted last, so its rank is the last one; rows of NaN alone have rank 0.
    """
    element, rows = element_of(ordered), shape_of(ordered)
    q = op.arg("q")
    q = b.view(q, [numel(q)]) if isinstance(q, SSAValue) else b.full([1], float(q), element)
    last = rows[-1] - 1
    if op.overload_name.startswith("nan"):
        there = b("bitwise_not", b("isnan", ordered))
        count = b("sum.dim_IntList", there, [-1], True, dtype=i64)
        highest = b.cast(b("add.Scalar", count, -1), element)
        return b("clamp", b("mul.Tensor", q, highest), 0.0)
    ranks = b.expand(b("mul.Scalar", q, float(last)), [*rows[:-1], numel(q)])
    spoiled = b("any.dim", b("isnan", ordered), -1, True)
    return b("where.self", spoiled, b.full([], float(last), element), ranks)


def _between(b: CoreBuilder, ordered: SSAValue, ranks: SSAValue, middle: bool) -> SSAValue:
    """From the element below towards the one above, by the rest of the rank or by half."""
    floor = b("floor", ranks)
    below = b("gather", ordered, -1, b.cast(floor, i64))
    above = b("gather", ordered, -1, b.cast(b("ceil", ranks), i64))
    element = element_of(ordered)
    weight = b.full([], 0.5, element) if middle else b("sub.Tensor", ranks, floor)
    step = b("sub.Tensor", above, below)
    near = b("add.Tensor", below, b("mul.Tensor", weight, step))
    rest = b("add.Scalar", b("neg", weight), 1.0)
    far = b("sub.Tensor", above, b("mul.Tensor", step, rest))
    return b("where.self", b("lt.Scalar", weight, 0.5), near, far)


@lowers("nanmean")
def nanmean(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum of what is not NaN over its count."""
    x, dims, keep = op.arg("self"), op.arg("dim"), op.arg("keepdim")
    element = element_of(op.results[0])
    dims = dims or list(range(rank_of(x)))
    missing = b("isnan", x)
    there = b("where.self", missing, b.full([], 0.0, element_of(x)), x)
    total = b("sum.dim_IntList", there, dims, keep, dtype=element)
    count = b("sum.dim_IntList", b("bitwise_not", missing), dims, keep, dtype=i64)
    return b("div.Tensor", total, b.cast(count, element))
