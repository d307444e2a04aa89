"""What AOTAutograd decomposes.

Composite ops of torch's inference fast paths are the ATen ops they stand for: outside of training,
`torch.nn.TransformerEncoderLayer` and `torch.nn.MultiheadAttention` call one op each. The formulas
are those of the modules' own slow paths.

Of one sample without reduction, tracing gives `multilabel_margin_loss` shape [1], where torch's
kernel, and ours, give []. The shape that users see under `torch.compile` is the traced one.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def native_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    """`aten._native_multi_head_attention`: (batch, length, embed_dim) in and out.

    A true mask leaves a position out: its shape is (length, length) for mask type 0,
    (batch, length) for 1, (batch, heads, length, length) for 2. The weights are an empty tensor
    unless they are asked for.
    """
    weights = qkv_weight.chunk(3)
    biases = qkv_bias.chunk(3)
    width = embed_dim // num_head
    heads = [
        functional.linear(source, weight, bias).unflatten(-1, (num_head, width)).transpose(1, 2)
        for source, weight, bias in zip((query, key, value), weights, biases, strict=True)
    ]
    scores = (heads[0] / math.sqrt(width)) @ heads[1].transpose(2, 3)
    if mask is not None:
        left_out = mask.to(torch.bool)
        if mask_type == 1:
            left_out = left_out[:, None, None, :]
        scores = scores.masked_fill(left_out, float("-inf"))
    attention = scores.softmax(-1)
    mixed = (attention @ heads[2]).transpose(1, 2).flatten(2)
    result = functional.linear(mixed, proj_weight, proj_bias)
    if not need_weights:
        return result, query.new_empty(0)
    return result, attention.mean(1) if average_attn_weights else attention


def encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """`aten._transformer_encoder_layer_fwd`: (batch, length, embed_dim) in and out."""
    activation = functional.gelu if use_gelu else functional.relu

    def attend(x: Tensor) -> Tensor:
        projections = qkv_weight, qkv_bias, proj_weight, proj_bias
        return native_attention(
            x, x, x, embed_dim, num_heads, *projections, mask, False, mask_type=mask_type
        )[0]

    def feed(x: Tensor) -> Tensor:
        inner = activation(functional.linear(x, ffn_weight_1, ffn_bias_1))
        return functional.linear(inner, ffn_weight_2, ffn_bias_2)

    def normalize(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    if norm_first:
        x = src + attend(normalize(src, norm_weight_1, norm_bias_1))
        return x + feed(normalize(x, norm_weight_2, norm_bias_2))
    x = normalize(src + attend(src), norm_weight_1, norm_bias_1)
    return normalize(x + feed(x), norm_weight_2, norm_bias_2)


def margin_of_sample(scores: Tensor, labels: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """`aten.multilabel_margin_loss_forward` of one sample, without reduction: a batch of one.

    NotImplemented for all others.
    """
    if scores.dim() > 1 or reduction != 0:
        return NotImplemented
    batch = (x.reshape(1, -1) for x in (scores, labels))
    loss, targets = torch.ops.aten.multilabel_margin_loss_forward.default(*batch, reduction)
    return loss, targets.reshape(labels.shape)


DECOMPOSITIONS: dict[torch._ops.OpOverload, Callable[..., object]] = {
    torch.ops.aten._native_multi_head_attention.default: native_attention,
    torch.ops.aten._transformer_encoder_layer_fwd.default: encoder_layer,
    torch.ops.aten.multilabel_margin_loss_forward.default: margin_of_sample,
}
"""By the op; everything else is left to the passes."""
