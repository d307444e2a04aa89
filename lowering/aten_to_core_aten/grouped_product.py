"""Products of groups of rows or columns by a matrix each, as mixtures of experts have them."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


def _chosen(b: CoreBuilder, ends: SSAValue, count: int) -> SSAValue:
    """[groups, count]: which of `count` places belong to each group, the last of which `ends`."""
    (groups,) = shape_of(ends)
    place = b("unsqueeze", b("arange.start_step", 0, count, 1, dtype=i64), 0)
    passed = b("le.Tensor", b("unsqueeze", b.cast(ends, i64), 1), place)
    group = b("sum.dim_IntList", b("_to_copy", passed, dtype=i64), [0], True)
    number = b("unsqueeze", b("arange.start_step", 0, groups, 1, dtype=i64), 1)
    return b("eq.Tensor", group, number)


def _where(b: CoreBuilder, chosen: SSAValue, dim: int, x: SSAValue) -> SSAValue:
    """`x`, or 0 where a place is not chosen; (groups, ...), with the places along `dim` of x."""
    shape = [shape_of(chosen)[0], *[1] * (rank_of(x) - 1)]
    shape[dim] = shape_of(chosen)[1]
    return b("where.self", b.view(chosen, shape), x, b.full([], 0, element_of(x)))


def _by_groups(b: CoreBuilder, x: SSAValue, y: SSAValue, ends: SSAValue) -> SSAValue:
    """(rows, k) by (groups, k, n), group by group: of each so many rows as it has.

    The product of a group has room for all rows, those in front of which are its own. Nothing reads
    the others, so that they are not computed (`limit-rows`), and where the result has no place
    for them: it has one row more meanwhile.
    """
    (rows, _), (groups, _, columns) = shape_of(x), shape_of(y)
    place = b("arange.start_step", 0, rows, 1, dtype=i64)
    chosen = _chosen(b, ends, rows)
    none, behind, start = (b.full([], n, i64) for n in (0, rows, 0))
    made = b.full([rows + 1, columns], 0, element_of(x))
    for group in range(groups):
        own = b("_to_copy", b("select.int", chosen, 0, group), dtype=i64)
        count = b("sum.dim_IntList", own, [0])
        at, live = b("add.Tensor", place, start), b("lt.Tensor", place, count)
        taken = b("index.Tensor", x, [b("where.self", live, at, none)])
        product = b("mm", taken, b("select.int", y, 0, group))
        made = b("index_put", made, [b("where.self", live, at, behind)], product)
        start = b("add.Tensor", start, count)
    return b("slice.Tensor", made, 0, 0, rows)


def _row_by_row(b: CoreBuilder, x: SSAValue, y: SSAValue, ends: SSAValue) -> SSAValue:
    """(rows, k) by (groups, k, n), of few rows: each by the matrix of its group, where that stands.

    Rows behind the last group are 0.
    """
    (rows, _), (groups, _, _) = shape_of(x), shape_of(y)
    place = b("arange.start_step", 0, rows, 1, dtype=i64)
    passed = b("le.Tensor", b("unsqueeze", b.cast(ends, i64), 1), b("unsqueeze", place, 0))
    group = b("sum.dim_IntList", b("_to_copy", passed, dtype=i64), [0])
    last = b("minimum", group, b.full([], groups - 1, i64))
    wide_x, wide_y = (_wide(b, v) for v in (x, y))
    products = b("mul.Tensor", b("unsqueeze", wide_x, 2), b("index.Tensor", wide_y, [last]))
    made = b.cast(b("sum.dim_IntList", products, [1]), element_of(x))
    exists = b("unsqueeze", b("lt.Scalar", group, groups), 1)
    return b("where.self", exists, made, b.full([], 0, element_of(x)))


def _wide(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """Products of half floats are added up in f32."""
    return b.cast(x, f32) if isinstance(element_of(x), BFloat16Type | Float16Type) else x


@lowers("_grouped_mm")
def grouped_product(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Products of groups, of which `offs` says where each ends.

    (rows, k) by (groups, k, n) has groups of rows, (groups, m, k) by (k, columns) groups of
    columns, and (m, k) by (k, n) groups of k, each of which gives a product. Places behind the last
    group are 0, where torch's kernels leave what they find. Rows are multiplied by the matrices of
    their groups alone; columns by all, of which each takes its own.
    """
    x, y, ends = op.arg("self"), op.arg("mat2"), op.arg("offs")
    if op.arg("bias") is not None:
        raise b.refuse("adds a bias to groups", "an addition of the bias")
    if rank_of(x) == 3 and rank_of(y) == 3:
        return b.cast(b("bmm", x, y), element_of(op.results[0]))
    if ends is None:
        raise b.refuse("groups without ends", "offs")
    groups = shape_of(ends)[0]
    if rank_of(x) == 2 and rank_of(y) == 3 and groups:
        few = shape_of(x)[0] <= groups
        made = _row_by_row(b, x, y, ends) if few else _by_groups(b, x, y, ends)
        return b.cast(made, element_of(op.results[0]))
    wide_x, wide_y = (
        b.expand(b("unsqueeze", v, 0), [groups, *shape_of(v)]) if rank_of(v) == 2 else v
        for v in (x, y)
    )
    if rank_of(x) == 2 and rank_of(y) == 2:
        chosen = _chosen(b, ends, shape_of(x)[1])
        made = b("bmm", _where(b, chosen, 2, wide_x), _where(b, chosen, 1, wide_y))
    else:
        chosen = _chosen(b, ends, shape_of(y)[1])
        product = _where(b, chosen, 2, b("bmm", wide_x, wide_y))
        made = b("sum.dim_IntList", product, [0])
    return b.cast(made, element_of(op.results[0]))
