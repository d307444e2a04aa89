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
def batch_normalization(n: Node) -> Result:
    """By statistics that are given, as after training; in training, by those of the batch."""
    if n.attr("training_mode", 0):
        return _by_batch(n)
    if n.version < 14 and len(n.proto.output) > 1:
        raise n.refuse("training mode of versions before 14")
    rank = n.rank()
    epsilon = float(n.attr("epsilon", 1e-5))
    element = n.element()
    if all(n.element(i) == element for i in range(5)) and rank >= 2:
        made = n.op(
            "_native_batch_norm_legit_no_training.default",
            n[0], n[1], n[2], n[3], n[4], 0.1, epsilon,
        )  # fmt: skip
        return made[0]
    return _normalized(n, *(_by_channel(n, n[i], rank) for i in (3, 4)))


def _normalized(n: Node, mean: Value, variance: Value) -> Value:
    rank = n.rank()
    scale, bias = (_by_channel(n, n[i], rank) for i in (1, 2))
    deviation = n.op("sqrt.default", n.op("add.Scalar", variance, float(n.attr("epsilon", 1e-5))))
    centred = n.op("div.Tensor", n.op("sub.Tensor", n[0], mean), deviation)
    return n.cast(n.op("add.Tensor", n.op("mul.Tensor", centred, scale), bias), n.element())


def _by_batch(n: Node) -> Result:
    """Also the running statistics, of which `momentum` is the share that stays."""
    rank = n.rank()
    dims = [axis for axis in range(rank) if axis != 1]
    variance, mean = n.op("var_mean.correction", n[0], dims, correction=0, keepdim=True)
    share = float(n.attr("momentum", 0.9))
    running: list[Value] = []
    for index, new in ((3, mean), (4, variance)):
        kept = n.op("mul.Scalar", n[index], share)
        added = n.op("mul.Scalar", n.reshape(new, [n.shape()[1]]), 1 - share)
        running.append(n.cast(n.op("add.Tensor", kept, added), n.element(index)))
    return [_normalized(n, mean, variance), *running]


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
