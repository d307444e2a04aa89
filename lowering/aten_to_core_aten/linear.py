"""Products of matrices: everything becomes mm, bmm and addmm on two or three dimensions."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import (
    broadcast_shapes,
    element_of,
    is_bool,
    is_integer,
    rank_of,
    shape_of,
)


@lowers("linear")
def linear(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x W^T + bias, the leading dimensions of x folded into rows."""
    x, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
    *lead, features = shape_of(x)
    if rank_of(weight) == 1:
        result = matmul_values(b, x, weight)
        return result if bias is None else b("add.Tensor", result, bias)
    rows = b.view(x, [prod(lead), features])
    transposed = b.permute(weight, [1, 0])
    result = b("mm", rows, transposed) if bias is None else b("addmm", bias, rows, transposed)
    return b.view(result, [*lead, shape_of(weight)[0]])


@lowers("matmul", "linalg_matmul")
def matmul(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """As matmul_values."""
    return matmul_values(b, op.operands[0], op.operands[1])


def matmul_values(b: CoreBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """torch.matmul: vectors get a dimension that is dropped again, batches are broadcast."""
    left, right = shape_of(x), shape_of(y)
    if not left or not right:
        raise b.refuse("matmul needs at least one dimension on both sides")
    batch = broadcast_shapes(left[:-2], right[:-2])
    result = batch + left[-2:-1] * (len(left) > 1) + right[-1:] * (len(right) > 1)
    if len(left) == 1:
        x, left = b("unsqueeze", x, 0), [1, *left]
    if len(right) == 1:
        y, right = b("unsqueeze", y, 1), [*right, 1]
    if len(right) == 2:
        rows = b.view(x, [prod(left[:-1]), left[-1]])
        return b.view(b("mm", rows, y), result)
    x = b.view(b.expand(x, batch + left[-2:]), [prod(batch), *left[-2:]])
    y = b.view(b.expand(y, batch + right[-2:]), [prod(batch), *right[-2:]])
    return b.view(b("bmm", x, y), result)


@lowers("mv", "dot", "inner")
def vector_product(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Products with vectors; `inner` contracts the last dimension of both."""
    x, y = op.operands
    if op.overload_name.startswith("inner"):
        if rank_of(x) == 0 or rank_of(y) == 0:
            return b("mul.Tensor", x, y)
        if rank_of(y) > 2:
            raise b.refuse("inner with more than two dimensions on the right", "matmul")
        y = b.swap(y, 0, 1) if rank_of(y) == 2 else y
    return matmul_values(b, x, y)


@lowers("outer", "ger")
def outer(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Column times row, elementwise."""
    x, y = op.operands
    return b("mul.Tensor", b("unsqueeze", x, 1), y)


def _scaled_sum(
    b: CoreBuilder, addend: SSAValue, product: SSAValue, beta: float, alpha: float
) -> SSAValue:
    """beta * addend + alpha * product; addend is not read if beta is 0 (NaN must not spread).

    The numbers become those of the result's dtype: 0.6 is 0 for integers, 2 is True for booleans.
    """
    element = element_of(product)
    if is_bool(element):
        return _any_of(b, addend, product, bool(beta), bool(alpha))
    if is_integer(element):
        beta, alpha = int(beta), int(alpha)
    if beta == 0:
        return b("mul.Scalar", product, alpha) if alpha != 1 else product
    addend = b("mul.Scalar", addend, beta) if beta != 1 else addend
    return b("add.Tensor", addend, product, alpha=alpha)


def _any_of(
    b: CoreBuilder, addend: SSAValue, product: SSAValue, beta: bool, alpha: bool
) -> SSAValue:
    """`_scaled_sum` of booleans."""
    product = product if alpha else b("logical_xor", product, product)
    return b("logical_or", addend, product) if beta else product


@lowers("baddbmm")
def baddbmm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """beta * self + alpha * bmm."""
    product = b("bmm", op.arg("batch1"), op.arg("batch2"))
    return _scaled_sum(b, op.arg("self"), product, op.arg("beta"), op.arg("alpha"))


@lowers("addbmm")
def addbmm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """beta * self + alpha * the sum of the products."""
    products = b("bmm", op.arg("batch1"), op.arg("batch2"))
    element = element_of(products)
    dtype = element if is_integer(element) else None  # else the sum is of i64
    product = b("sum.dim_IntList", products, [0], dtype=dtype)
    return _scaled_sum(b, op.arg("self"), product, op.arg("beta"), op.arg("alpha"))


@lowers("addmv")
def addmv(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """beta * self + alpha * matrix vector."""
    product = matmul_values(b, op.arg("mat"), op.arg("vec"))
    return _scaled_sum(b, op.arg("self"), product, op.arg("beta"), op.arg("alpha"))


@lowers("addr")
def addr(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """beta * self + alpha * outer product."""
    product = b("mul.Tensor", b("unsqueeze", op.arg("vec1"), 1), op.arg("vec2"))
    return _scaled_sum(b, op.arg("self"), product, op.arg("beta"), op.arg("alpha"))


@lowers("bilinear")
def bilinear(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """out[n, o] = x1[n] W[o] x2[n] + bias[o]."""
    x, y, weight, bias = (op.arg(name) for name in ("input1", "input2", "weight", "bias"))
    *lead, left = shape_of(x)
    right, out, rows = shape_of(y)[-1], shape_of(weight)[0], prod(lead)
    flat = b.view(b.permute(weight, [1, 0, 2]), [left, out * right])
    partial = b.view(b("mm", b.view(x, [rows, left]), flat), [rows, out, right])
    result = b.view(b("bmm", partial, b.view(y, [rows, right, 1])), [*lead, out])
    return result if bias is None else b("add.Tensor", result, bias)


@lowers("kron")
def kron(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Every element of the first times the whole second: dimensions interleaved, then merged."""
    x, y = op.arg("self"), op.arg("other")
    rank = max(rank_of(x), rank_of(y))
    first = [1] * (rank - rank_of(x)) + shape_of(x)
    second = [1] * (rank - rank_of(y)) + shape_of(y)
    wide = b.view(x, [extent for one in first for extent in (one, 1)])
    narrow = b.view(y, [extent for one in second for extent in (1, one)])
    return b.view(b("mul.Tensor", wide, narrow), shape_of(op.results[0]))
