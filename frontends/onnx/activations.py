"""Activation functions with attributes, softmax and its kin, dropout of inference."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Known, Value, shape_of


@imports("LeakyRelu")
def leaky_relu(n: Node) -> Value:
    """x below zero times alpha."""
    return n.op("leaky_relu.default", n[0], n.attr("alpha", 0.01))


@imports("Elu")
def elu(n: Node) -> Value:
    """alpha * (exp(x) - 1) below zero."""
    return n.op("elu.default", n[0], n.attr("alpha", 1.0))


@imports("Celu")
def celu(n: Node) -> Value:
    """elu whose slope at zero is 1."""
    return n.op("celu.default", n[0], n.attr("alpha", 1.0))


@imports("Selu")
def selu(n: Node) -> Value:
    """elu with a scale."""
    alpha, gamma = n.attr("alpha", 1.67326319217681884765625), n.attr("gamma", 1.05070102214813232)
    return n.op("elu.default", n[0], alpha, gamma)


@imports("HardSigmoid")
def hard_sigmoid(n: Node) -> Value:
    """alpha * x + beta, between 0 and 1."""
    line = n.op("add.Scalar", n.op("mul.Scalar", n[0], n.attr("alpha", 0.2)), n.attr("beta", 0.5))
    return n.op("clamp.default", line, 0, 1)


@imports("Softplus")
def softplus(n: Node) -> Value:
    """log(exp(x) + 1), without torch's threshold."""
    return n.op("logaddexp.default", n[0], n.scalar(0, n[0]))


@imports("Gelu")
def gelu(n: Node) -> Value:
    """By erf or by tanh."""
    return n.op("gelu.default", n[0], approximate=n.attr("approximate", "none"))


@imports("ThresholdedRelu")
def thresholded_relu(n: Node) -> Value:
    """x above alpha, else 0."""
    above = n.op("gt.Scalar", n[0], n.attr("alpha", 1.0))
    return n.op("where.ScalarOther", above, n[0], 0)


@imports("PRelu")
def prelu(n: Node) -> Value:
    """x below zero times a slope that is broadcast."""
    below = n.op("lt.Scalar", n[0], 0)
    return n.op("where.self", below, n.op("mul.Tensor", n[0], n[1]), n[0])


@imports("Softmax", "LogSoftmax", "Hardmax", first=13)
def softmax(n: Node) -> Value:
    """Along one axis."""
    return _along(n, n[0], n.axis(-1))


@imports("Softmax", "LogSoftmax", "Hardmax", last=12)
def softmax_of_matrix(n: Node) -> Value:
    """Along all dims from an axis on."""
    shape, axis = n.shape(), n.axis(1)
    rows = n.reshape(n[0], [prod(shape[:axis]), prod(shape[axis:])])
    return n.reshape(_along(n, rows, 1), shape)


def _along(n: Node, value: Value, axis: int) -> Value:
    if n.proto.op_type == "Softmax":
        return n.op("_softmax.default", value, axis, False)
    if n.proto.op_type == "LogSoftmax":
        return n.op("_log_softmax.default", value, axis, False)
    best = n.op("argmax.default", value, axis, True)
    zeros = n.op("zeros_like.default", value)
    return n.op("scatter.value", zeros, axis, best, 1)


@imports("Dropout", last=11)
@imports("Dropout", first=12)
def dropout(n: Node) -> Result:
    """Inference: nothing is dropped."""
    mode = n.get(2)
    ratio = n.get(1)
    if mode is not None:
        training = bool(n.known(2).ravel()[0])
        if training and (not isinstance(ratio, Known) or float(ratio.array.ravel()[0])):
            raise n.refuse("training mode draws random numbers that ONNX does not define")
    if len(n.proto.output) < 2:
        return n[0]
    return [n[0], n.op("full.default", list(shape_of(n[0])), True, dtype=i1)]
