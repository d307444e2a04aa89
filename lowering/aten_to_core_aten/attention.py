"""scaled_dot_product_attention as products and a softmax.

The shape of the result is what a fused attention kernel is recognised by later: scores = (q k^T)
* scale, one optional addition or selection for the mask, _softmax over the last dimension, times v.
"""

from __future__ import annotations

from math import inf, sqrt

from xdsl.dialects.builtin import bf16, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.rounding import IMPLICIT, mark_implicit
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.linear import matmul_values
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, composed, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, is_bool, shape_of


@lowers("scaled_dot_product_attention")
def attention(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """softmax(q k^T * scale + mask) v; rows that are masked whole give 0 as in torch."""
    value = op.arg("value")
    if op.arg("enable_gqa"):
        value = repeat_heads(b, value, shape_of(op.arg("query"))[-3])
    return _applied(op, b, _weights(op, b, _scores(op, b)), value)


@lowers("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The same, and the logarithm of each row's sum of exponentials for the backward pass."""
    scores = _scores(op, b)
    heads = shape_of(op.arg("query"))[-3]
    made = _applied(op, b, _weights(op, b, scores), repeat_heads(b, op.arg("value"), heads))
    if not op.results[1].uses:
        return [made, None]
    (logs,) = composed(b, "logsumexp.default", scores, [-1])
    return [made, b.cast(logs, element_of(op.results[1]))]


@lowers("_scaled_dot_product_attention_math")
def attention_math(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The same, and the weights."""
    if op.results[1].uses and (op.arg("dropout_p") or op.arg("dropout_mask") is not None):
        raise b.refuse("weights after dropout", "dropout_p=0")
    weights = _weights(op, b, _scores(op, b))
    heads = shape_of(op.arg("query"))[-3]
    value = repeat_heads(b, op.arg("value"), heads) if op.arg("enable_gqa") else op.arg("value")
    return [_applied(op, b, weights, value), weights if op.results[1].uses else None]


def _scores(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """q k^T * scale + mask."""
    query, key = op.arg("query"), op.arg("key")
    if len(shape_of(query)) > 2 and shape_of(query)[-3] != shape_of(key)[-3]:
        key = repeat_heads(b, key, shape_of(query)[-3])
    scale, mask = op.arg("scale"), op.arg("attn_mask")
    if scale is None:
        scale = 1 / sqrt(max(shape_of(query)[-1], 1))  # no features: all scores are 0
    rank = len(shape_of(key))
    scores = matmul_values(b, query, b.swap(key, rank - 2, rank - 1))
    scores = b("mul.Scalar", scores, scale)
    if op.arg("is_causal"):
        if mask is not None:
            raise b.refuse("attn_mask and is_causal together", "one of the two")
        mask = causal_mask(b, scores)
    return scores if mask is None else _masked(b, scores, mask)


def _weights(op: SchemaOp, b: CoreBuilder, scores: SSAValue) -> SSAValue:
    """Their softmax; 0 in rows that are -inf throughout, whether by the mask or by their scores."""
    if not shape_of(scores)[-1]:  # no keys: nothing is added up
        return _softmax(b, scores)
    largest = b("amax", scores, [-1], True)
    zero = b.full([], 0.0, element_of(scores))
    return b("where.self", b("eq.Scalar", largest, -inf), zero, _softmax(b, scores))


def _applied(op: SchemaOp, b: CoreBuilder, weights: SSAValue, value: SSAValue) -> SSAValue:
    """weights v, with dropout of weights if asked for."""
    p = op.arg("dropout_p")
    if p:
        weights = b("native_dropout", weights, p, True)
    return matmul_values(b, _as_multiplied(op, b, weights), value)


def _as_multiplied(op: SchemaOp, b: CoreBuilder, weights: SSAValue) -> SSAValue:
    """Weights rounded to the bf16 that values are, as torch multiplies them.

    Matrix tiles multiply no others. Where there are none, what stays in a kernel is not rounded.
    """
    given = op.arg("value").owner
    if not isinstance(given, SchemaOp) or IMPLICIT not in given.attributes:
        return weights
    if element_of(given.operands[0]) != bf16:
        return weights
    for kind in (bf16, element_of(weights)):
        weights = b.cast(weights, kind)
        assert isinstance(weights.owner, SchemaOp)
        mark_implicit(weights.owner)
    return weights


def _softmax(b: CoreBuilder, scores: SSAValue) -> SSAValue:
    return b("_softmax", scores, -1, False)


def _masked(b: CoreBuilder, scores: SSAValue, mask: SSAValue) -> SSAValue:
    if is_bool(element_of(mask)):
        return b("where.self", mask, scores, b.full([], -inf, element_of(scores)))
    return b("add.Tensor", scores, b.cast(mask, element_of(scores)))


def _fully_masked(b: CoreBuilder, mask: SSAValue) -> SSAValue:
    """True for rows of the mask that admit nothing, kept dimension last."""
    if is_bool(element_of(mask)):
        return b("bitwise_not", b("any.dim", mask, -1, True))
    return b("eq.Scalar", b("amax", mask, [-1], True), -inf)


def causal_mask(b: CoreBuilder, scores: SSAValue) -> SSAValue:
    """True where the key's index is not above the query's (upper left alignment)."""
    rows, columns = shape_of(scores)[-2:]
    row = b.view(b("arange.start_step", 0, rows, 1, dtype=i64), [rows, 1])
    return b("ge.Tensor", row, b("arange.start_step", 0, columns, 1, dtype=i64))


def repeat_heads(b: CoreBuilder, x: SSAValue, heads: int) -> SSAValue:
    """Each of x's heads as often as grouped queries need."""
    *batch, own, length, size = shape_of(x)
    if own == heads:
        return x
    dim = len(batch) + 1
    wide = b.expand(b("unsqueeze", x, dim), [*batch, own, heads // own, length, size])
    return b.view(wide, [*batch, heads, length, size])
