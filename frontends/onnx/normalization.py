"""Normalizations."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import bf16, f16, f32

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Value, shape_of


def _by_channel(n: Node, value: Value, rank: int) -> Value:
    return n.reshape(value, [1, shape_of(value)[0], *[1] * (rank - 2)])


@imports("BatchNormalization")
def batch_normalization(n: Node) -> Value:
    """By statistics that are given, as after training."""
    if n.attr("training_mode", 0) or (n.version < 14 and len(n.proto.output) > 1):
        raise n.refuse("training mode is not imported")
    rank = len(n.shape())
    epsilon = float(n.attr("epsilon", 1e-5))
    element = n.element()
    same = all(n.element(i) == element for i in range(5))
    if same and rank >= 2:
        made = n.op(
            "_native_batch_norm_legit_no_training.default",
            n[0], n[1], n[2], n[3], n[4], 0.1, epsilon,
        )  # fmt: skip
        return made[0]
    scale, bias, mean, variance = (_by_channel(n, n[i], rank) for i in range(1, 5))
    deviation = n.op("sqrt.default", n.op("add.Scalar", variance, epsilon))
    centred = n.op("div.Tensor", n.op("sub.Tensor", n[0], mean), deviation)
    return n.cast(n.op("add.Tensor", n.op("mul.Tensor", centred, scale), bias), element)


@imports("InstanceNormalization")
def instance_normalization(n: Node) -> Value:
    """Each channel of each image by itself."""
    epsilon = float(n.attr("epsilon", 1e-5))
    return n.op("instance_norm.default", n[0], n[1], n[2], None, None, True, 0.0, epsilon, False)


@imports("LayerNormalization")
def layer_normalization(n: Node) -> Result:
    """Over all dims from an axis on; also mean and inverse deviation."""
    axis = n.axis(-1)
    sizes = list(n.shape()[axis:])
    epsilon = float(n.attr("epsilon", 1e-5))
    scale = n[1]
    bias = n.get(2)
    x = n[0]
    if len(n.proto.output) > 1 and n.element() in (f16, bf16):
        x = n.cast(x, f32)
        scale = n.cast(scale, f32)
        bias = None if bias is None else n.cast(bias, f32)
    scale = n.expand(scale, sizes)
    bias = None if bias is None else n.expand(bias, sizes)
    made, mean, rstd = n.op("native_layer_norm.default", x, sizes, scale, bias, epsilon)
    return [n.cast(made, n.element()), mean, rstd]


@imports("LRN")
def local_response(n: Node) -> Value:
    """Divided by what the channels near by have."""
    size, alpha = int(n.attr("size")), float(n.attr("alpha", 1e-4))
    beta, bias = float(n.attr("beta", 0.75)), float(n.attr("bias", 1.0))
    b, c, *rest = n.shape()
    squares = n.reshape(n.op("mul.Tensor", n[0], n[0]), [b, 1, c, prod(rest)])
    low = (size - 1) // 2
    pads = [0, 0, low, size - 1 - low]
    whole = n.op("constant_pad_nd.default", squares, pads, 0)
    total = n.op("prims::reduce_window", whole, "add", [size, 1], [1, 1], [0, 0], [1, 1], False)
    scaled = n.op("add.Scalar", n.op("mul.Scalar", total, alpha / size), bias)
    divisor = n.reshape(n.op("pow.Tensor_Scalar", scaled, beta), n.shape())
    return n.op("div.Tensor", n[0], divisor)
