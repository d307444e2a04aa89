"""Norms, variances, extrema and counts, from the core sums, amax, amin, any and var."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    normalized_dims,
    rank_of,
    shape_of,
)


def _all_dims(x: SSAValue) -> list[int]:
    return list(range(rank_of(x)))


@lowers("sum")
def sum_all(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Over all dimensions."""
    x = op.arg("self")
    return b("sum.dim_IntList", x, _all_dims(x), False, dtype=element_of(op.results[0]))


@lowers("nansum")
def nansum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """NaN counts as 0."""
    x = op.arg("self")
    if is_float(element_of(x)):
        x = b("where.self", b("isnan", x), b.full([], 0.0, element_of(x)), x)
    dims = normalized_dims(op.arg("dim"), rank_of(x))
    return b("sum.dim_IntList", x, dims, op.arg("keepdim"), dtype=element_of(op.results[0]))


def vector_norm(
    b: CoreBuilder, x: SSAValue, order: float, dims: list[int] | None, keep: bool
) -> SSAValue:
    """(sum |x|^p)^(1/p), with its limits for p = inf, -inf and 0; |x| of one element."""
    dims = normalized_dims(dims, rank_of(x))
    element = element_of(x)
    if order != 0 and all(shape_of(x)[d] == 1 for d in dims):
        kept = [n for d, n in enumerate(shape_of(x)) if keep or d not in dims]
        return b.view(b("abs", x), kept)
    if order in (inf, -inf):
        return b("amax" if order > 0 else "amin", b("abs", x), dims, keep)
    if order == 0:
        return b("sum.dim_IntList", b.cast(b("ne.Scalar", x, 0), element), dims, keep)
    if order == 1:
        return b("sum.dim_IntList", b("abs", x), dims, keep)
    if order == 2:
        return b("sqrt", b("sum.dim_IntList", b("mul.Tensor", x, x), dims, keep))
    if order == -2:  # the power of -2 is that of the square, which may overflow
        inverse = b("reciprocal", x)
        squares = b("mul.Tensor", inverse, inverse)
        return b("rsqrt", b("sum.dim_IntList", squares, dims, keep))
    powers = b("pow.Tensor_Scalar", b("abs", x), order)
    return b("pow.Tensor_Scalar", b("sum.dim_IntList", powers, dims, keep), 1 / order)


def magnitude(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """|x| of complex numbers, whose norms are those of their sizes; others as they are."""
    return b("abs", x) if is_complex(element_of(x)) else x


@lowers("linalg_vector_norm")
def linalg_vector_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm of order `ord` over `dim` (all if None)."""
    x = b.cast(magnitude(b, op.arg("self")), element_of(op.results[0]))
    return vector_norm(b, x, op.arg("ord"), op.arg("dim"), op.arg("keepdim"))


@lowers(
    "norm.Scalar",
    "norm.ScalarOpt_dim",
    "norm.ScalarOpt_dim_dtype",
    "norm.ScalarOpt_dtype",
    "frobenius_norm.dim",
)
def norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Older spellings of the vector norm."""
    names = {argument.name for argument in op.schema.args}
    order = op.arg("p") if "p" in names else None
    dims = op.arg("dim") if "dim" in names else None
    keep = op.arg("keepdim") if "keepdim" in names else False
    x = op.arg("self")
    x = b.cast(magnitude(b, x), element_of(op.results[0]))
    return vector_norm(b, x, 2 if order is None else order, dims, keep)


def _correction(op: SchemaOp) -> float:
    names = {argument.name for argument in op.schema.args}
    if "unbiased" in names:
        return 1 if op.arg("unbiased") else 0
    correction = op.arg("correction")
    return 1 if correction is None else correction


def _variance(
    op: SchemaOp, b: CoreBuilder, *, wide: bool = False
) -> tuple[SSAValue, list[int], bool]:
    """The variance, in f64 if `wide`, over which dimensions, and whether they are kept."""
    names = {argument.name for argument in op.schema.args}
    x = op.arg("self")
    if wide and is_float(element_of(x)):
        x = b.cast(x, f64)
    dims = normalized_dims(op.arg("dim") if "dim" in names else None, rank_of(x))
    keep = op.arg("keepdim") if "keepdim" in names else False
    return b("var.correction", x, dims, correction=_correction(op), keepdim=keep), dims, keep


@lowers("var", "var.dim")
def var(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """var.correction."""
    return _variance(op, b)[0]


@lowers("std", "std.dim", "std.correction")
def std(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Root of the variance."""
    return _deviation(op, b)[0]


def _deviation(op: SchemaOp, b: CoreBuilder) -> tuple[SSAValue, list[int], bool]:
    """Root of the variance, which f32 may not hold."""
    variance, dims, keep = _variance(op, b, wide=True)
    return b.cast(b("sqrt", variance), element_of(op.results[0])), dims, keep


@lowers("var_mean", "var_mean.dim", "var_mean.correction")
def var_mean(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Variance and mean."""
    variance, dims, keep = _variance(op, b)
    return [variance, b("mean.dim", op.arg("self"), dims, keep)]


@lowers("std_mean", "std_mean.dim", "std_mean.correction")
def std_mean(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Standard deviation and mean."""
    deviation, dims, keep = _deviation(op, b)
    return [deviation, b("mean.dim", op.arg("self"), dims, keep)]


@lowers("max", "min")
def extremum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """amax or amin over all dimensions."""
    x = op.arg("self")
    return b("amax" if op.overload_name.startswith("max") else "amin", x, _all_dims(x))


@lowers("aminmax")
def aminmax(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Both extrema."""
    x, dim = op.arg("self"), op.arg("dim")
    dims = normalized_dims(dim, rank_of(x))
    return [b(name, x, dims, op.arg("keepdim")) for name in ("amin", "amax")]


@lowers("all", "all.dim", "all.dims", "_is_all_true")
def every(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """not any(not x)."""
    x = op.arg("self")
    names = {argument.name for argument in op.schema.args}
    dims = normalized_dims(op.arg("dim") if "dim" in names else None, rank_of(x))
    keep = op.arg("keepdim") if "keepdim" in names else False
    false = b("bitwise_not", x) if is_bool(element_of(x)) else b("eq.Scalar", x, 0)
    found = b("bitwise_not", b("any.dims", false, dims, keep))
    return b.cast(found, element_of(op.results[0]))


@lowers("_is_any_true")
def some(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """any over all dimensions."""
    return b("any.dims", op.arg("self"), _all_dims(op.arg("self")), False)


@lowers("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Sum of x != 0, in i64."""
    x, dims = op.arg("self"), normalized_dims(op.arg("dim"), rank_of(op.arg("self")))
    return b("sum.dim_IntList", b("ne.Scalar", x, 0), dims, False, dtype=i64)


@lowers("trace")
def trace(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Sum of the diagonal."""
    return b("sum.dim_IntList", b("diagonal", op.arg("self")), [0])


@lowers("argsort")
def argsort(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The indices of sort."""
    made = b.op("sort", op.arg("self"), op.arg("dim"), op.arg("descending"))
    return made.results[1]


@lowers("argsort.stable")
def argsort_stable(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The indices of sort, which is stable here."""
    made = b.op("sort", op.arg("self"), op.arg("dim"), op.arg("descending"))
    return made.results[1]


@lowers("sort.stable")
def sort_stable(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """sort, which is stable here."""
    return list(b.op("sort", op.arg("self"), op.arg("dim"), op.arg("descending")).results)


@lowers("msort")
def msort(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """sort over dimension 0."""
    return b("sort", op.arg("self"), 0)


@lowers("dist")
def dist(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm of the difference."""
    difference = b("sub.Tensor", op.arg("self"), op.arg("other"))
    return vector_norm(b, magnitude(b, difference), op.arg("p"), None, False)


@lowers("linalg_cross", "cross")
def cross(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x1 y2 - x2 y1 along a dimension of extent 3, by two cyclic shifts."""
    x, y, dim = op.arg("self"), op.arg("other"), op.arg("dim")
    shape = shape_of(op.results[0])
    x, y = b.expand(x, shape), b.expand(y, shape)
    dim = shape.index(3) if dim is None else dim % len(shape)

    def shifted(v: SSAValue, by: int) -> SSAValue:
        head, tail = b("slice.Tensor", v, dim, 0, by), b("slice.Tensor", v, dim, by, 3)
        return b("cat", [tail, head], dim)

    first = b("mul.Tensor", shifted(x, 1), shifted(y, 2))
    return b("sub.Tensor", first, b("mul.Tensor", shifted(x, 2), shifted(y, 1)))


@lowers("pairwise_distance")
def pairwise_distance(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm of x1 - x2 + eps over the last dimension."""
    difference = b("sub.Tensor", op.arg("x1"), op.arg("x2"))
    difference = b("add.Scalar", difference, op.arg("eps"))
    return vector_norm(b, magnitude(b, difference), op.arg("p"), [-1], op.arg("keepdim"))


@lowers("sum_to_size")
def sum_to_size(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Summed over what broadcasting to the old shape would have added."""
    x, wanted = op.arg("self"), shape_of(op.results[0])
    shape, lead = shape_of(x), rank_of(x) - len(wanted)
    grown = [d for d in range(lead, rank_of(x)) if wanted[d - lead] == 1 != shape[d]]
    dims = [*range(lead), *grown]
    if not dims:  # integers become i64 all the same
        return b.cast(x, element_of(op.results[0]))
    return b.view(b("sum.dim_IntList", x, dims, True), wanted)


@lowers("linalg__powsum")
def powsum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum of |x|^ord over `dim` (all if None)."""
    x, order, dims = op.arg("self"), op.arg("ord"), op.arg("dim")
    element = element_of(op.results[0])
    size = b.cast(b("abs", x), element)
    dims = normalized_dims(dims, rank_of(x))
    return b("sum.dim_IntList", b("pow.Tensor_Scalar", size, order), dims, op.arg("keepdim"))
