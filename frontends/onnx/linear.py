"""Products of matrices."""

from __future__ import annotations

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value


@imports("MatMul")
def matmul(n: Node) -> Value:
    """As NumPy's matmul."""
    return n.op("matmul.default", n[0], n[1])


@imports("Gemm")
def gemm(n: Node) -> Value:
    """alpha * a @ b + beta * c, of matrices that may be transposed."""
    a = n.transpose(n[0], [1, 0]) if n.attr("transA", 0) else n[0]
    b = n.transpose(n[1], [1, 0]) if n.attr("transB", 0) else n[1]
    alpha, beta = n.attr("alpha", 1.0), n.attr("beta", 1.0)
    if n.is_float() and n.get(2) is not None and alpha == beta == 1:
        return n.op("addmm.default", n[2], a, b)
    product = n.op("mm.default", a, b)
    if alpha != 1:
        product = n.cast(n.op("mul.Scalar", product, alpha), n.element())
    if n.get(2) is None:
        return product
    c = n[2] if beta == 1 else n.cast(n.op("mul.Scalar", n[2], beta), n.element())
    return n.op("add.Tensor", product, c)


@imports("Einsum")
def einsum(n: Node) -> Value:
    """By an equation."""
    equation = str(n.attr("equation")).replace(" ", "")
    return n.op("einsum.default", equation, [v for v in n.inputs if v is not None])
