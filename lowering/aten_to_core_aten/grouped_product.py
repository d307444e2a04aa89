"""Products of groups of rows or columns by a matrix each, as mixtures of experts have them."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
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


@lowers("_grouped_mm")
def grouped_product(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """All groups by all matrices, of which each place takes its own.

    (rows, k) by (groups, k, n) has groups of rows, (groups, m, k) by (k, columns) groups of
    columns, and (m, k) by (k, n) groups of k, each of which gives a product. `offs` says where each
    ends; places behind the last are 0, where torch's kernels leave what they find.
    """
    x, y, ends = op.arg("self"), op.arg("mat2"), op.arg("offs")
    if op.arg("bias") is not None:
        raise b.refuse("adds a bias to groups", "an addition of the bias")
    if rank_of(x) == 3 and rank_of(y) == 3:
        return b.cast(b("bmm", x, y), element_of(op.results[0]))
    if ends is None:
        raise b.refuse("groups without ends", "offs")
    groups = shape_of(ends)[0]
    wide_x, wide_y = (
        b.expand(b("unsqueeze", v, 0), [groups, *shape_of(v)]) if rank_of(v) == 2 else v
        for v in (x, y)
    )
    if rank_of(x) == 2 and rank_of(y) == 2:
        chosen = _chosen(b, ends, shape_of(x)[1])
        made = b("bmm", _where(b, chosen, 2, wide_x), _where(b, chosen, 1, wide_y))
    else:
        rows = rank_of(x) == 2
        chosen = _chosen(b, ends, shape_of(x)[0] if rows else shape_of(y)[1])
        product = _where(b, chosen, 1 if rows else 2, b("bmm", wide_x, wide_y))
        made = b("sum.dim_IntList", product, [0])
    return b.cast(made, element_of(op.results[0]))
