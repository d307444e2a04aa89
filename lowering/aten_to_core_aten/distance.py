"""Distances of all pairs of rows (aten/src/ATen/native/Distance.cpp)."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Extent, Size
from lamina.lowering.aten_to_core_aten.linear import matmul_values
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import broadcast_shapes, rank_of, shape_of

MOST_SUBTRACTED = 25
"""Rows of either side up to which torch subtracts, and does not multiply, where the program leaves
the choice to it."""
IF_NECESSARY, ALWAYS, NEVER = range(3)
"""Values of `compute_mode`: when torch multiplies; None is the first."""


@lowers("cdist")
def cdist(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """_cdist_forward, or products where torch multiplies; the batches are broadcast first."""
    x, y = op.arg("x1"), op.arg("x2")
    batch = broadcast_shapes(shape_of(x)[:-2], shape_of(y)[:-2])
    if op.arg("p") == 2 and _multiplies(op.arg("compute_mode"), shape_of(x)[-2], shape_of(y)[-2]):
        return _from_products(b, x, y)
    x, y = (b.expand(v, batch + shape_of(v)[-2:]) for v in (x, y))
    return b("_cdist_forward", x, y, op.arg("p"), None)


@lowers("_euclidean_dist")
def euclidean_dist(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """What cdist is where it multiplies."""
    return _from_products(b, op.arg("x1"), op.arg("x2"))


def _multiplies(mode: int | None, *rows: Extent) -> bool:
    """Whether torch multiplies matrices of so many rows. Of an open size none is known to be more
    than its range begins with, and differences are never less exact."""
    if mode not in (None, IF_NECESSARY):
        return mode == ALWAYS
    return any((r.range[0] if isinstance(r, Size) else r) > MOST_SUBTRACTED for r in rows)


def _from_products(b: CoreBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The root of |x|^2 + |y|^2 - 2 x y, which rounding may leave below 0."""
    one, other = (
        b("sum.dim_IntList", b("mul.Tensor", v, v), [rank_of(v) - 1], True) for v in (x, y)
    )
    products = matmul_values(b, x, b.swap(y, rank_of(y) - 2, rank_of(y) - 1))
    other = b.swap(other, rank_of(y) - 2, rank_of(y) - 1)
    squares = b("sub.Tensor", b("add.Tensor", one, other), products, alpha=2)
    return b("sqrt", b("clamp", squares, 0))
