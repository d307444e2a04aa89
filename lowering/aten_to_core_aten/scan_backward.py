"""Gradients of scans along a dimension."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of


@lowers("cummaxmin_backward")
def cummaxmin(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient added where each extreme was found."""
    grad, x = op.arg("grad"), op.arg("input")
    zeros = b.full(shape_of(x), 0, element_of(grad))
    return b("scatter_add", zeros, op.arg("dim"), op.arg("indices"), grad)


@lowers("cumprod_backward")
def cumprod(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum over i >= k of g[i] y[i] / x[k].

    Where x[k] is the first zero, y[i] / x[k] is the product without it; behind a zero all is 0.
    """
    grad, x, y, dim = op.arg("grad"), op.arg("input"), op.arg("output"), op.arg("dim")
    if not rank_of(x):
        return grad
    if is_complex(element_of(x)):
        raise b.refuse("the gradient of products of complex numbers", "real tensors")
    zero = b.full([], 0, element_of(x))
    one = b.full([], 1, element_of(x))
    empty = b("eq.Scalar", x, 0)
    zeros = b("cumsum", b.cast(empty, i64), dim)
    before = b("eq.Scalar", zeros, 0)
    first = b("logical_and", empty, b("eq.Scalar", zeros, 1))
    without = b("cumprod", b("where.self", first, one, x), dim)
    reached = b("gt.Scalar", zeros, 0)
    behind = _from_end(b, b("where.self", reached, b("mul.Tensor", grad, without), zero), dim)
    safe = b("where.self", before, x, one)
    ahead = b("div.Tensor", _from_end(b, b("mul.Tensor", grad, y), dim), safe)
    rest = b("where.self", first, behind, zero)
    return b("where.self", before, ahead, rest)


def _from_end(b: CoreBuilder, x: SSAValue, dim: int) -> SSAValue:
    """Sums from each place to the end."""
    return b("flip", b("cumsum", b("flip", x, [dim]), dim), [dim])
