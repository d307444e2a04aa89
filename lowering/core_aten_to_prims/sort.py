"""Order and running extremes: prims.sort, prims.scan and prims.searchsorted."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import (
    element_of,
    is_complex,
    is_float,
    normalized,
    rank_of,
    shape_of,
)


def sorted_along(
    b: PrimsBuilder, x: SSAValue, dim: int, descending: bool = False
) -> tuple[SSAValue, SSAValue]:
    """Values in order, and where they stood."""
    made = b.op("sort", x, dim, descending)
    return made.results[0], made.results[1]


def _dim(op: SchemaOp, name: str = "dim") -> int:
    return normalized(op.arg(name), max(1, rank_of(op.arg("self"))))


def _row(b: PrimsBuilder, x: SSAValue) -> SSAValue:
    """A scalar as a row of one."""
    return x if rank_of(x) else b.reshape(x, [1])


@lowers("sort")
def sort(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Stable whether asked for or not."""
    return _shaped(op, b, sorted_along(b, _row(b, op.arg("self")), _dim(op), op.arg("descending")))


@lowers("topk")
def topk(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The first of the order."""
    made = b.op("topk", _row(b, op.arg("self")), _dim(op), op.arg("k"), op.arg("largest"))
    return _shaped(op, b, made.results)


def _shaped(op: SchemaOp, b: PrimsBuilder, made: Sequence[SSAValue]) -> Replacement:
    return [b.reshape(v, shape_of(r)) for v, r in zip(made, op.results, strict=True)]


@lowers("kthvalue")
def kthvalue(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The k-th smallest, counted from 1."""
    made = b.op("kthvalue", _row(b, op.arg("self")), _dim(op), op.arg("k") - 1)
    return _shaped(op, b, made.results)


@lowers("median.dim", "nanmedian.dim")
def median_along(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The lower of the middle ones; the first NaN if there is any, or without NaN."""
    x, dim = _row(b, op.arg("self")), _dim(op)
    return _shaped(op, b, _median(b, x, dim, op.overload_name.startswith("nan")))


@lowers("median", "nanmedian")
def median(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Of all elements."""
    x = op.arg("self")
    count = prod(shape_of(x))
    if not count:
        if not is_float(element_of(x)):
            raise b.refuse("the median of nothing")
        return b.full([], float("nan"), element_of(x))
    row = b.reshape(x, [count])
    return b.reshape(_median(b, row, 0, op.overload_name.startswith("nan"))[0], [])


def _median(b: PrimsBuilder, x: SSAValue, dim: int, skip_nan: bool) -> Sequence[SSAValue]:
    """Values and places of the medians, `dim` kept."""
    shape = shape_of(x)
    length = shape[dim]
    if not is_float(element_of(x)):
        return b.op("kthvalue", x, dim, (length - 1) // 2).results
    kept = [*shape[:dim], 1, *shape[dim + 1 :]]
    if skip_nan:
        numbers = b.reshape(b("sum", b.convert(b("eq", x, x), i64), [dim]), kept)
        last = b("maximum", b.with_number("sub", numbers, 1), b.full(kept, 0, i64))
        middle = b("div", last, b.full(kept, 2, i64))
        return [b("gather", v, middle, dim) for v in sorted_along(b, x, dim)]
    middle = b.op("kthvalue", x, dim, (length - 1) // 2).results
    place = b.along(b.iota(length, i64), shape, dim)
    first = b("amin", b.where(b("ne", x, x), place, b.full(shape, length, i64)), [dim])
    first = b.reshape(first, kept)
    has_nan = b("lt", first, b.full(kept, length, i64))
    nan = b.full(kept, float("nan"), element_of(x))
    return [b.where(has_nan, nan, middle[0]), b.where(has_nan, first, middle[1])]


@lowers("mode")
def mode(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The smallest of the most frequent values, and its last place.

    In the sorted row, each element counts how many equal ones stand before it.
    """
    x, dim = _row(b, op.arg("self")), _dim(op)
    values, places = sorted_along(b, x, dim)
    shape, length = shape_of(x), shape_of(x)[dim]
    before = b.pad(b.slice(values, dim, 0, length - 1), dim, 1, 0)
    position = b.along(b.iota(length, i64), shape, dim)
    fresh = b("bitwise_or", b("ne", values, before), b.with_number("eq", position, 0))
    start = b.where(fresh, position, b.full(shape, 0, i64))
    start = b("scan", start, "max", dim)
    count = b("sub", position, start)
    best = b("argmax", count, [dim])
    kept = [*shape[:dim], 1, *shape[dim + 1 :]]
    at = b.reshape(best, kept)
    picked = [b("gather", v, at, dim) for v in (values, places)]
    return [b.reshape(v, shape_of(r)) for v, r in zip(picked, op.results, strict=True)]


@lowers("cummax", "cummin")
def running_extreme(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """prims.scan_extreme."""
    combiner = op.overload_name[3:6]
    made = b.op("scan_extreme", _row(b, op.arg("self")), combiner, _dim(op))
    return [b.reshape(v, shape_of(r)) for v, r in zip(made.results, op.results, strict=True)]


@lowers("cumprod", "logcumsumexp")
def running(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.scan; logarithms in f64, as in torch: they lose a unit of the total at each step."""
    combiner = "mul" if op.overload_name.startswith("cumprod") else "logaddexp"
    result: Attribute = element_of(op.results[0])
    x = _row(b, b.convert(op.arg("self"), result))
    if combiner == "logaddexp":
        if is_complex(result):
            raise b.refuse(
                "the branch of torch's complex logarithm depends on the order of the sum"
            )
        x = b.convert(x, f64)
    made = b.convert(b("scan", x, combiner, _dim(op)), result)
    return b.reshape(made, shape_of(op.results[0]))


@lowers("searchsorted.Tensor", "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar")
def searchsorted(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.searchsorted; a sorter puts the row in order first."""
    bucketize = op.overload_name.startswith("bucketize")
    rows = op.arg("boundaries" if bucketize else "sorted_sequence")
    values = op.arg("self")
    right = op.arg("right")
    if not bucketize:
        right = right or op.arg("side") == "right"
        if op.arg("sorter") is not None:
            rows = b("gather", rows, op.arg("sorter"), rank_of(rows) - 1)
    shape = shape_of(op.results[0])
    element: Attribute = element_of(rows)
    values = b.value(values, shape, element)
    if rank_of(rows) > 1 and not shape:
        raise b.refuse("a scalar among several rows", "a tensor of one value for each row")
    made = b("searchsorted", rows, values, right)
    return b.convert(made, i32 if op.arg("out_int32") else i64)
