"""Reductions over segments of rows (aten/src/ATen/native/SegmentReduce.cpp)."""

from __future__ import annotations

from math import inf, nan

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of

_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "max": ("amax", -inf),
    "min": ("amin", inf),
    "prod": ("prod", 1.0),
}
"""The scatter that does it, and what an empty segment gives."""


@lowers("segment_reduce")
def segment_reduce(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Row r of `axis` joins the segment that ends first after r; rows behind the last are lost."""
    x, initial = op.arg("data"), op.arg("initial")
    if op.arg("reduce") not in _REDUCTIONS:
        raise b.refuse(f"reduction '{op.arg('reduce')}'", ", ".join(_REDUCTIONS))
    name, identity = _REDUCTIONS[op.arg("reduce")]
    axis, shape = normalized(op.arg("axis"), rank_of(x)), shape_of(x)
    starts, lengths = _bounds(op, b)
    segments = shape_of(lengths)[-1]
    place = _segment_of_row(b, starts, lengths, shape[axis])
    wanted = [*shape[:axis], segments + 1, *shape[axis + 1 :]]
    start = b.full(wanted, identity if initial is None else float(initial), element_of(x))
    trailing = [1] * (len(shape) - axis - 1)
    index = b.expand(b.view(place, [*shape_of(place), *trailing]), shape)
    made = b("scatter_reduce.two", start, axis, index, x, name)
    made = b("slice.Tensor", made, axis, 0, segments)
    if op.arg("reduce") != "mean":
        return made
    counts = b.view(lengths, [*shape_of(lengths), *trailing])
    means = b("div.Tensor", made, b.cast(b("clamp", counts, 1), element_of(x)))
    empty = b.full([], nan if initial is None else float(initial), element_of(x))
    return b("where.self", b("gt.Scalar", counts, 0), means, empty)


def _bounds(op: SchemaOp, b: CoreBuilder) -> tuple[SSAValue, SSAValue]:
    """First row and number of rows of each segment, as i64."""
    if op.arg("lengths") is not None:
        lengths = b.cast(op.arg("lengths"), i64)
        return b("sub.Tensor", b("cumsum", lengths, -1), lengths), lengths
    if op.arg("offsets") is None:
        raise b.refuse("segments by indices", "lengths or offsets")
    offsets = b.cast(op.arg("offsets"), i64)
    count = shape_of(offsets)[-1]
    starts = b("slice.Tensor", offsets, -1, 0, count - 1)
    return starts, b("sub.Tensor", b("slice.Tensor", offsets, -1, 1, count), starts)


def _segment_of_row(b: CoreBuilder, starts: SSAValue, lengths: SSAValue, rows: int) -> SSAValue:
    """For each row its segment; the number of segments for rows that are in none."""
    *lead, segments = shape_of(lengths)
    line = b("arange.start_step", 0, rows, 1, dtype=i64)
    line = b.expand(line, [*lead, rows]) if lead else line
    # A row before the first start is in no segment either.
    ends = b("add.Tensor", starts, lengths)
    place = b("searchsorted.Tensor", ends, line, right=True)
    if not segments:
        return place
    first = b("slice.Tensor", starts, -1, 0, 1)
    return b("where.self", b("lt.Tensor", line, first), b.full([], segments, i64), place)


@lowers("_convert_indices_from_coo_to_csr")
def row_starts(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """How many entries of `self`, rows in order, are below each of 0, 1, ... size."""
    rows = op.arg("self")
    line = b("arange.start_step", 0, op.arg("size") + 1, 1, dtype=element_of(rows))
    return b("searchsorted.Tensor", rows, line, out_int32=op.arg("out_int32"))


@lowers("_segment_reduce_backward")
def segment_reduce_backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each row gets its segment's gradient: a share of a mean, or of the rows that are extreme."""
    x, name = op.arg("data"), op.arg("reduce")
    if name not in _REDUCTIONS or name == "prod":
        raise b.refuse(f"the gradient of reduction '{name}'", "sum, mean, max, min")
    axis, shape = normalized(op.arg("axis"), rank_of(x)), shape_of(x)
    starts, lengths = _bounds(op, b)
    place = _segment_of_row(b, starts, lengths, shape[axis])
    trailing = [1] * (len(shape) - axis - 1)
    index = b.expand(b.view(place, [*shape_of(place), *trailing]), shape)
    grad, element = op.arg("grad"), element_of(x)
    if name == "mean":
        counts = b.cast(b("clamp", lengths, 1), element)
        grad = b("div.Tensor", grad, b.view(counts, [*shape_of(lengths), *trailing]))
    if name in ("sum", "mean"):
        return _row_of_segment(b, grad, axis, index)
    best = _row_of_segment(b, op.arg("output"), axis, index)
    chosen = b("logical_or", b("eq.Tensor", x, best), b("isnan", x))
    none = b.full([*shape[:axis], shape_of(lengths)[-1] + 1, *shape[axis + 1 :]], 0, element)
    counts = b("scatter_add", none, axis, index, b.cast(chosen, element))
    share = b("gather", counts, axis, index)
    made = b("div.Tensor", _row_of_segment(b, grad, axis, index), b("clamp", share, 1))
    return b("where.self", chosen, made, b.full([], 0, element))


def _row_of_segment(b: CoreBuilder, x: SSAValue, axis: int, index: SSAValue) -> SSAValue:
    """For each row what its segment has; 0 for rows that are in none."""
    shape = shape_of(x)
    none = b.full([*shape[:axis], 1, *shape[axis + 1 :]], 0, element_of(x))
    return b("gather", b("cat", [x, none], axis), axis, index)
