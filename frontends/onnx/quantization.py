"""Integers with scales and zero points, and products of integers."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i32

from lamina.frontends.onnx.convolution import convolve
from lamina.frontends.onnx.element_types import ELEMENT_TYPES, LIMITS, name_of
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.pointwise import saturated
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, element_of, shape_of

_UI8 = IntegerType(8, Signedness.UNSIGNED)


def _along(n: Node, value: Value | None, like: Value, axis: int) -> Value | None:
    """Scales or zero points in a shape that broadcasts: one, one for each row, or for blocks."""
    if value is None:
        return None
    sizes, shape = shape_of(like), shape_of(value)
    if not shape or (shape == (1,) and sizes[axis % max(len(sizes), 1)] != 1):
        return n.reshape(value, [])
    block = int(n.attr("block_size", 0))
    if len(shape) == 1 and not block:
        return n.reshape(value, [shape[0] if i == axis else 1 for i in range(len(sizes))])
    if shape == sizes:
        return value
    block = block or -(-sizes[axis] // shape[axis])
    wide = n.op("repeat_interleave.self_int", value, block, axis)
    return n.op("slice.Tensor", wide, axis, 0, sizes[axis], 1)


def _quantize(n: Node, x: Value, scale: Value, zero: Value | None, like: Value) -> Value:
    ratio = n.op("div.Tensor", n.cast(x, f32), n.cast(scale, f32))
    rounded = n.op("round.default", ratio)
    if zero is not None:
        rounded = n.op("add.Tensor", rounded, n.cast(zero, f32))
    return saturated(n, rounded, like)


@imports("QuantizeLinear")
def quantize(n: Node) -> Value:
    """round(x / scale) + zero point, saturated."""
    axis = n.counted(int(n.attr("axis", 1))) if len(n.shape()) > 1 else 0
    zero = n.get(2)
    code = int(n.attr("output_dtype", 0))
    if zero is None and code and code not in ELEMENT_TYPES:
        raise n.refuse(f"results of type {name_of(code)}")
    like = zero or n.constant(0, ELEMENT_TYPES[code] if code else _UI8)
    scale = _along(n, n[1], n[0], axis)
    assert scale is not None
    return _quantize(n, n[0], scale, _along(n, zero, n[0], axis), like)


@imports("DequantizeLinear")
def dequantize(n: Node) -> Value:
    """(x - zero point) * scale."""
    axis = n.counted(int(n.attr("axis", 1))) if len(n.shape()) > 1 else 0
    scale, zero = _along(n, n[1], n[0], axis), _along(n, n.get(2), n[0], axis)
    code = int(n.attr("output_dtype", 0))
    x = n.cast(n[0], f32) if zero is None else _less(n, n[0], zero)
    made = n.op("mul.Tensor", n.cast(x, f32), n.cast(scale or n[1], f32))
    return n.cast(made, ELEMENT_TYPES[code] if code else n.element(1))


def _less(n: Node, x: Value, zero: Value | None) -> Value:
    """x less its zero point, in i32."""
    x = n.cast(x, i32)
    return x if zero is None else n.op("sub.Tensor", x, n.cast(zero, i32))


def _column(n: Node, value: Value | None, axis: int, rank: int) -> Value | None:
    """One zero point, or one for each row or column of a matrix."""
    if value is None or not shape_of(value):
        return value
    if len(shape_of(value)) > 1:
        return value
    count = shape_of(value)[0]
    return n.reshape(value, [count if i == axis % rank else 1 for i in range(rank)])


@imports("MatMulInteger")
def matmul_integer(n: Node) -> Value:
    """Products of what is left of the zero points, in i32."""
    a = _less(n, n[0], _column(n, n.get(2), -2, len(n.shape())))
    b = _less(n, n[1], _column(n, n.get(3), -1, len(n.shape(1))))
    return n.op("matmul.default", a, b)


@imports("ConvInteger")
def convolution_integer(n: Node) -> Value:
    """A convolution of what is left of the zero points, in i32."""
    x = _less(n, n[0], n.get(2))
    weight = _less(n, n[1], _column(n, n.get(3), 0, len(n.shape(1))))
    return convolve(n, x, weight, None)


@imports("QLinearMatMul")
def matmul_quantized(n: Node) -> Value:
    """A product of integers, quantized again."""
    a = _less(n, n[0], _column(n, n[2], -2, len(n.shape())))
    b = _less(n, n[3], _column(n, n[5], -1, len(n.shape(3))))
    a_scale = _column(n, n[1], -2, len(n.shape()))
    b_scale = _column(n, n[4], -1, len(n.shape(3)))
    product = n.cast(n.op("matmul.default", a, b), f32)
    for scale in (a_scale, b_scale):
        assert scale is not None
        product = n.op("mul.Tensor", product, n.cast(scale, f32))
    rank = len(shape_of(product))
    scale = _column(n, n[6], -2, rank)
    assert scale is not None
    return _quantize(n, product, scale, _column(n, n[7], -2, rank), n[7])


@imports("QLinearConv")
def convolution_quantized(n: Node) -> Value:
    """A convolution of integers, quantized again."""
    rank = len(n.shape())
    x = _less(n, n[0], n[2])
    weight = _less(n, n[3], _column(n, n[5], 0, rank))
    made = n.cast(convolve(n, x, weight, n.get(8)), f32)
    for scale in (n[1], _column(n, n[4], 1, rank)):
        assert scale is not None
        made = n.op("mul.Tensor", made, n.cast(scale, f32))
    return _quantize(n, made, n[6], n[7], n[7])


__all__ = ["LIMITS", "element_of"]
