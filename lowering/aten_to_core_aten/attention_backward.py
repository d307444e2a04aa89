"""The gradient of attention from the logarithms of its sums, as flash attention keeps them."""

from __future__ import annotations

from math import inf, sqrt

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.attention import causal_mask, repeat_heads
from lamina.lowering.aten_to_core_aten.linear import matmul_values
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, is_bool, rank_of, shape_of


@lowers("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """With p = exp(scores - logsumexp): dv = p^T g, and ds = p (g v^T - sum(g out)) scale.

    Keys and values of fewer heads than queries have the sum of the gradients of their group.
    """
    if op.arg("dropout_p"):
        raise b.refuse("dropout in the gradient of attention", "dropout_p=0")
    query = op.arg("query")
    heads, own_heads = shape_of(query)[-3], shape_of(op.arg("key"))[-3]
    key, value = (repeat_heads(b, op.arg(name), heads) for name in ("key", "value"))
    grad, out, mask = op.arg("grad_out"), op.arg("out"), op.arg("attn_mask")
    scale = op.arg("scale")
    scale = 1 / sqrt(max(shape_of(query)[-1], 1)) if scale is None else scale
    scores = b("mul.Scalar", matmul_values(b, query, _turned(b, key)), scale)
    if op.arg("is_causal"):
        mask = causal_mask(b, scores)
    if mask is not None and is_bool(element_of(mask)):
        scores = b("where.self", mask, scores, b.full([], -inf, element_of(scores)))
    elif mask is not None:
        scores = b("add.Tensor", scores, b.cast(mask, element_of(scores)))
    logs = b.cast(b("unsqueeze", op.arg("logsumexp"), -1), element_of(scores))
    weights = b("exp", b("sub.Tensor", scores, logs))
    handed = matmul_values(b, grad, _turned(b, value))
    own = b("sum.dim_IntList", b("mul.Tensor", grad, out), [-1], True)
    slope = b("mul.Tensor", weights, b("sub.Tensor", handed, own))
    slope = b("mul.Scalar", slope, scale)
    return [
        matmul_values(b, slope, key),
        _sum_heads(b, matmul_values(b, _turned(b, slope), query), own_heads),
        _sum_heads(b, matmul_values(b, _turned(b, weights), grad), own_heads),
    ]


def _sum_heads(b: CoreBuilder, x: SSAValue, own: int) -> SSAValue:
    """What `repeat_heads` repeats, added up again."""
    *batch, heads, length, size = shape_of(x)
    if own == heads:
        return x
    groups = b.view(x, [*batch, own, heads // own, length, size])
    return b("sum.dim_IntList", groups, [len(batch) + 1])


def _turned(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """The last two dimensions swapped."""
    return b.swap(x, rank_of(x) - 2, rank_of(x) - 1)
