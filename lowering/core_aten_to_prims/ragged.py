"""Rows of different lengths, one after the other in one vector: bags, triangles, repeats."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, shape_of

SUM, MEAN, MAX = 0, 1, 2
"""Modes of embedding_bag."""


def rows_and_places(b: PrimsBuilder, lengths: SSAValue, total: int) -> tuple[SSAValue, SSAValue]:
    """For each of `total` elements: the row that holds it, and its place there."""
    ends = b("scan", lengths, "add", 0)
    position = b.iota(total, i64)
    row = b("searchsorted", ends, position, True)
    start = b("take", b("sub", ends, lengths), row, 0)
    return row, b("sub", position, start)


@lowers("repeat_interleave.Tensor")
def repeat_interleave(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each position as often as asked for."""
    repeats = op.arg("repeats")
    row, _ = rows_and_places(b, b.convert(repeats, i64), shape_of(op.results[0])[0])
    return b.convert(row, element_of(op.results[0]))


@lowers("tril_indices", "triu_indices")
def triangle_indices(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Rows and columns of a triangle, in row-major order."""
    rows, columns, offset = op.arg("row"), op.arg("col"), op.arg("offset")
    total = shape_of(op.results[0])[1]
    if not total:
        return b.full([2, 0], 0, element_of(op.results[0]))
    none, whole = b.full([rows], 0, i64), b.full([rows], columns, i64)
    lower = op.overload_name.startswith("tril")
    edge = b("minimum", b("maximum", b.iota(rows, i64, offset + lower), none), whole)
    row, column = rows_and_places(b, edge if lower else b("sub", whole, edge), total)
    if not lower:
        column = b("add", column, b("take", edge, row, 0))
    both = b("cat", [b.reshape(v, [1, total]) for v in (row, column)], 0)
    return b.convert(both, element_of(op.results[0]))


@lowers("_pdist_forward")
def pdist(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Distances of each row from all later ones."""
    x, order = op.arg("self"), op.arg("p")
    rows, _ = shape_of(x)
    total = shape_of(op.results[0])[0]
    if not total:
        return b.full([0], 0, element_of(x))
    first, place = rows_and_places(b, b.iota(rows, i64, rows - 1, -1), total)
    second = b.with_number("add", b("add", first, place), 1)
    difference = b("abs", b("sub", b("take", x, first, 0), b("take", x, second, 0)))
    return norm(b, difference, order, 1)


def norm(b: PrimsBuilder, distance: SSAValue, order: float, dim: int) -> SSAValue:
    """The norm of non-negative numbers along a dimension, which goes away."""
    element = element_of(distance)
    if order == float("inf"):
        return b("amax", distance, [dim])
    if order == 0:
        return b("sum", b.convert(b.with_number("ne", distance, 0), element), [dim])
    if order == 1:
        return b("sum", distance, [dim])
    if order == 2:
        return b("sqrt", b("sum", b("mul", distance, distance), [dim]))
    total = b("sum", b.with_number("pow", distance, order), [dim])
    return b.with_number("pow", total, 1 / order)


@lowers("_cdist_backward")
def cdist_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each row of x1 sums what its distances hand back; nothing where the distance is 0."""
    grad, x, y, order = op.arg("grad"), op.arg("x1"), op.arg("x2"), op.arg("p")
    *batch, rows, size = shape_of(x)
    columns, n = shape_of(y)[-2], len(batch)
    if shape_of(y)[:-2] != batch:
        raise b.refuse("batches that broadcast", "expand first")
    shape, lead = [*batch, rows, columns, size], list(range(n))
    left = b("broadcast_in_dim", x, shape, [*lead, n, n + 2])
    right = b("broadcast_in_dim", y, shape, [*lead, n + 1, n + 2])
    spread = [*lead, n, n + 1]
    handed = b("broadcast_in_dim", grad, shape, spread)
    distance = b("broadcast_in_dim", op.arg("cdist"), shape, spread)
    difference = b("sub", left, right)
    zero = b.full(shape, 0, element_of(x))
    size_of, sign = b("abs", difference), b("sign", difference)
    if order == 0:
        return b.full([*batch, rows, size], 0, element_of(x))
    if order == 1:
        made = b("mul", handed, sign)
    elif order == float("inf"):
        made = b.where(b("eq", size_of, distance), b("mul", handed, sign), zero)
    else:
        if order == 2:
            share = b("div", difference, distance)
        else:
            powered = b.with_number("pow", size_of, order - 1)
            share = b("mul", sign, b("div", powered, b.with_number("pow", distance, order - 1)))
        made = b.where(b.with_number("eq", distance, 0), zero, b("mul", handed, share))
        if order < 1:
            made = b.where(b.with_number("eq", difference, 0), zero, made)
    return b("sum", made, [n + 1])


@lowers("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The sum, mean or maximum of the table's rows in each bag; the bookkeeping is not made."""
    if any(result.uses for result in op.results[1:]):
        raise b.refuse("the bookkeeping of embedding bags", "the bags alone")
    weight, indices, offsets = op.arg("weight"), op.arg("indices"), op.arg("offsets")
    mode, padding = op.arg("mode"), op.arg("padding_idx")
    result: Attribute = element_of(op.results[0])
    compute = accumulation_type(result)
    bags, width = shape_of(op.results[0])
    [count] = shape_of(indices)
    made = b.full([bags, width], float("-inf") if mode == MAX else 0, compute)
    if not count or not bags:
        return [b.convert(b.full([bags, width], 0, compute), result), None, None, None]
    starts = b.slice(b.convert(offsets, i64), 0, 0, bags)
    bag = b("searchsorted", starts, b.iota(count, i64), True)
    bag = b.with_number("sub", bag, 1)
    rows = b.convert(b("take", weight, indices, 0), compute)
    scale = op.arg("per_sample_weights")
    if scale is not None:
        rows = b("mul", rows, b.along(b.convert(scale, compute), [count, width], 0))
    kept = b.convert(b.full([count], 1, i64), i64)
    if padding >= 0:
        there = b.with_number("ne", b.convert(indices, i64), padding)
        kept = b.convert(there, i64)
        nothing = b.full([count, width], float("-inf") if mode == MAX else 0, compute)
        rows = b.where(b.along(there, [count, width], 0), rows, nothing)
    made = b("put", made, bag, rows, 0, "max" if mode == MAX else "add")
    if mode != SUM:
        sizes = b("put", b.full([bags], 0, i64), bag, kept, 0, "add")
        wide = b.along(sizes, [bags, width], 0)
        if mode == MEAN:
            least = b("maximum", wide, b.full([bags, width], 1, i64))
            made = b("div", made, b.convert(least, compute))
        else:
            empty = b.with_number("eq", wide, 0)
            made = b.where(empty, b.full([bags, width], 0, compute), made)
    return [b.convert(made, result), None, None, None]
