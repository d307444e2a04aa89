"""Histograms over several columns (aten/src/ATen/native/Histogram.cpp)."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("histogramdd", "histogramdd.int_bins", "histogramdd.TensorList_bins")
def histogramdd(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Counts in boxes, and the edges along each column."""
    edges = _edges(op, b, _samples(op, b))
    return [_counts(op, b, edges), *edges]


@lowers("_histogramdd_bin_edges")
def bin_edges(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The edges along each column."""
    return _edges(op, b, _samples(op, b))


@lowers("_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors")
def counts(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Counts in boxes."""
    return _counts(op, b, _edges(op, b, _samples(op, b)))


def _samples(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """One sample a row."""
    shape = shape_of(op.arg("self"))
    return b.view(op.arg("self"), [prod(shape[:-1]), shape[-1]])


def _edges(op: SchemaOp, b: CoreBuilder, samples: SSAValue) -> list[SSAValue]:
    bins = op.arg("bins")
    columns = shape_of(samples)[1]
    if isinstance(bins, list) and bins and isinstance(bins[0], SSAValue):
        return bins
    numbers = [bins] * columns if isinstance(bins, int) else bins
    ends = op.arg("range") if op.schema.arg("range") is not None else None
    return [
        _even_edges(b, *_ends(b, samples, column, ends), count)
        for column, count in enumerate(numbers)
    ]


def _ends(
    b: CoreBuilder, samples: SSAValue, column: int, ends: list[float] | None
) -> tuple[SSAValue, SSAValue]:
    """Those given, or the column's extrema; equal ones are moved apart by a half each."""
    element = element_of(samples)
    if ends is not None:
        low, high = ends[2 * column : 2 * column + 2]
        half = 0.5 if low == high else 0.0
        return b.full([], low - half, element), b.full([], high + half, element)
    if not shape_of(samples)[0]:
        return b.full([], 0.0, element), b.full([], 1.0, element)
    values = b("select.int", samples, 1, column)
    first, last = b("amin", values, [0]), b("amax", values, [0])
    half = b("mul.Scalar", b.cast(b("eq.Tensor", first, last), element), 0.5)
    return b("sub.Tensor", first, half), b("add.Tensor", last, half)


def _even_edges(b: CoreBuilder, first: SSAValue, last: SSAValue, bins: int) -> SSAValue:
    """bins + 1 numbers, counted from the nearer end, as linspace does."""
    element = element_of(first)
    step = b("div.Scalar", b("sub.Tensor", last, first), bins)
    number = b("arange.start_step", 0, bins + 1, 1, dtype=i64)
    position = b.cast(number, element)
    up = b("add.Tensor", b("mul.Tensor", position, step), first)
    back = b("add.Scalar", b("neg", position), bins)
    down = b("sub.Tensor", last, b("mul.Tensor", back, step))
    return b("where.self", b("lt.Scalar", number, (bins + 1) // 2), up, down)


def _counts(op: SchemaOp, b: CoreBuilder, edges: list[SSAValue]) -> SSAValue:
    """Weights added at the box of each sample; the last bins are closed, outside is dropped."""
    samples = _samples(op, b)
    rows, element = shape_of(samples)[0], element_of(samples)
    bins = [shape_of(edge)[0] - 1 for edge in edges]
    place: SSAValue = b.full([rows], 0, i64)
    inside: SSAValue = b.full([rows], True, i1)
    for column, (edge, count) in enumerate(zip(edges, bins, strict=True)):
        values = b("select.int", samples, 1, column)
        low, high = b("select.int", edge, 0, 0), b("select.int", edge, 0, count)
        within = b("logical_and", b("ge.Tensor", values, low), b("le.Tensor", values, high))
        inside = b("logical_and", inside, within)
        found = b("add.Scalar", b("searchsorted.Tensor", edge, values, right=True), -1)
        place = b("add.Tensor", b("mul.Scalar", place, count), b("clamp", found, 0, count - 1))
    place = b("where.self", inside, place, b.full([], prod(bins), i64))
    weight = op.arg("weight")
    ones = b.full([rows], 1.0, element)
    weights = ones if weight is None else b.view(weight, [rows])
    empty = b.full([prod(bins) + 1], 0.0, element)
    made = b("slice.Tensor", b("index_put", empty, [place], weights, True), 0, 0, prod(bins))
    made = b.view(made, bins)
    return _density(b, made, edges) if op.arg("density") else made


def _density(b: CoreBuilder, made: SSAValue, edges: list[SSAValue]) -> SSAValue:
    """Over the total and the volume of each box."""
    shape = shape_of(made)
    made = b("div.Tensor", made, b("sum.dim_IntList", made, list(range(len(shape))), False))
    for dim, edge in enumerate(edges):
        count = shape[dim]
        upper = b("slice.Tensor", edge, 0, 1, count + 1)
        width = b("sub.Tensor", upper, b("slice.Tensor", edge, 0, 0, count))
        made = b("div.Tensor", made, b.view(width, [count, *[1] * (len(shape) - dim - 1)]))
    return made
