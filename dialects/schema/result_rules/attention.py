"""Result types of attention."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32, i1

from lamina.dialects.schema.result_rules.matmul import common_dtype
from lamina.dialects.schema.result_rules.shapes import (
    Args,
    Shape,
    Types,
    broadcast,
    same_shape,
    same_size,
    show,
    tensor,
)


def _heads(query: Shape, key: Shape, grouped: bool) -> Shape:
    """Batch dims of the scores; with grouped heads, keys repeat to the query's number of heads."""
    if not grouped or len(query) < 3:
        return broadcast(query[:-2], key[:-2])
    if query[-3] >= 0 and key[-3] > 0 and query[-3] % key[-3]:
        raise ValueError(f"{query[-3]} query heads are no multiple of {key[-3]} key heads")
    return (*broadcast(query[:-3], key[:-3]), query[-3])


def attention_shape(args: Args) -> Shape:
    """softmax(query @ key^T) @ value: batch, query length, value width."""
    query, key, value = (args[name] for name in ("query", "key", "value"))
    q, k, v = query.get_shape(), key.get_shape(), value.get_shape()
    if min(map(len, (q, k, v))) < 2:
        raise ValueError(f"query, key and value need at least 2 dims, got {query}, {key}, {value}")
    if not same_size(q[-1], k[-1]):
        raise ValueError(f"query {query} and key {key} differ in their last dim")
    if not same_size(k[-2], v[-2]):
        raise ValueError(f"key {key} and value {value} differ in length")
    batch = _heads(q, k, bool(args.get("enable_gqa")))
    _need_mask(args, (*batch, q[-2], k[-2]))
    return (*batch, q[-2], v[-1])


def _need_mask(args: Args, scores: Shape) -> None:
    mask: TensorType | None = args.get("attn_mask")
    if mask is None:
        return
    if args.get("is_causal"):
        raise ValueError("attn_mask and is_causal exclude each other")
    if mask.element_type != i1 and mask.element_type != args["query"].element_type:
        raise ValueError(f"the mask must be bool or of the query's element type, got {mask}")
    if not same_shape(broadcast(mask.get_shape(), scores), scores):
        raise ValueError(f"mask {mask} does not broadcast to the scores {show(scores)}")


def attention(args: Args) -> Types:
    """`scaled_dot_product_attention`."""
    shape = attention_shape(args)
    return [tensor(shape, common_dtype(args["query"], args["key"], args["value"]))]


def attention_with_logsumexp(args: Args) -> Types:
    """`_scaled_dot_product_flash_attention_for_cpu`: the result, and the scores' log-sum-exp."""
    (result,) = attention({**args, "enable_gqa": True})  # grouped heads need no asking
    query: TensorType = args["query"]
    batch, heads, length, _ = query.get_shape()
    dtype = query.element_type
    half = dtype.name in ("f16", "bf16")
    return [result, tensor((batch, heads, length), f32 if half else dtype)]


def attention_math(args: Args) -> Types:
    """`_scaled_dot_product_attention_math`: the result, and the attention weights."""
    (result,) = attention(args)
    q, k = args["query"].get_shape(), args["key"].get_shape()
    assert isinstance(result, TensorType)
    weights = (*result.get_shape()[:-2], q[-2], k[-2])
    return [result, tensor(weights, result.element_type)]
