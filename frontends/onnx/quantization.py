"""Integers with scales and zero points, and products of integers."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from lamina.dialects.narrow_types import NarrowInteger, NarrowType
from lamina.dialects.schema.promotion import ui8
from lamina.frontends.onnx.convolution import convolve
from lamina.frontends.onnx.element_types import ELEMENT_TYPES, element_type, name_of
from lamina.frontends.onnx.narrow import decoded, encoded, limited
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.pointwise import saturated
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Coded, Known, Value, element_of, shape_of


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
def quantize(n: Node) -> Value | Coded:
    """round(x / scale) + zero point, saturated."""
    axis = n.counted(int(n.attr("axis", 1))) if n.rank() > 1 else 0
    code = int(n.attr("output_dtype", 0))
    to = element_type(code) if code else ui8
    if to is None:
        raise n.refuse(f"results of type {name_of(code)}")
    scale, zero = _along(n, n[1], n[0], axis), n.held[2] if len(n.held) > 2 else None
    assert scale is not None
    if isinstance(zero, Coded):
        to = zero.type
        zero = decoded(n, zero, f32)
    if not isinstance(to, NarrowType):
        like = n.get(2) or n.constant(0, to)
        return _quantize(n, n[0], scale, _along(n, n.get(2), n[0], axis), like)
    zero = _along(n, zero, n[0], axis) if isinstance(zero, Known | SSAValue) else None
    return _quantize_narrow(n, scale, zero, to)


def _quantize_narrow(n: Node, scale: Value, zero: Value | None, to: NarrowType) -> Coded:
    """To codes; zero points of 8-bit floats are zeros, and say no more than the type."""
    ratio = n.op("div.Tensor", n.cast(n[0], f32), n.cast(scale, f32))
    whole = isinstance(to, NarrowInteger)
    if whole:
        ratio = n.op("round.default", ratio)
    if zero is not None and to.bits < 8:
        ratio = n.op("add.Tensor", ratio, zero)
    if whole:
        return limited(n, ratio, to)
    return encoded(n, ratio, to, bool(n.attr("saturate", 1)))


@imports("DequantizeLinear")
def dequantize(n: Node) -> Value:
    """(x - zero point) * scale."""
    given = [_numbers(n, place) for place in (0, 2)]
    x, zero = given
    assert x is not None
    rank = len(shape_of(x))
    axis = n.counted(int(n.attr("axis", 1)), rank) if rank > 1 else 0
    scale, zero = _along(n, n[1], x, axis), _along(n, zero, x, axis)
    code = int(n.attr("output_dtype", 0))
    if zero is not None and element_of(x) == f32:
        x = n.op("sub.Tensor", x, zero)
    else:
        x = n.cast(x, f32) if zero is None else _less(n, x, zero)
    made = n.op("mul.Tensor", n.cast(x, f32), n.cast(scale or n[1], f32))
    return n.cast(made, ELEMENT_TYPES[code] if code else n.element(1))


def _numbers(n: Node, place: int) -> Value | None:
    """An input in its own elements; narrow integers in i32, narrow floats in f32."""
    found = n.held[place] if place < len(n.held) else None
    if isinstance(found, Coded):
        return decoded(n, found, i32 if isinstance(found.type, NarrowInteger) else f32)
    return n.get(place)


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
    a = _less(n, n[0], _column(n, n.get(2), -2, n.rank()))
    b = _less(n, n[1], _column(n, n.get(3), -1, n.rank(1)))
    return n.op("matmul.default", a, b)


@imports("ConvInteger")
def convolution_integer(n: Node) -> Value:
    """A convolution of what is left of the zero points, in i32."""
    x = _less(n, n[0], n.get(2))
    weight = _less(n, n[1], _column(n, n.get(3), 0, n.rank(1)))
    return convolve(n, x, weight, None)


@imports("QLinearMatMul")
def matmul_quantized(n: Node) -> Value:
    """A product of integers, quantized again."""
    a = _less(n, n[0], _column(n, n[2], -2, n.rank()))
    b = _less(n, n[3], _column(n, n[5], -1, n.rank(3)))
    a_scale = _column(n, n[1], -2, n.rank())
    b_scale = _column(n, n[4], -1, n.rank(3))
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
    rank = n.rank()
    x = _less(n, n[0], n[2])
    weight = _less(n, n[3], _column(n, n[5], 0, rank))
    made = n.cast(convolve(n, x, weight, n.get(8)), f32)
    for scale in (n[1], _column(n, n[4], 1, rank)):
        assert scale is not None
        made = n.op("mul.Tensor", made, n.cast(scale, f32))
    return _quantize(n, made, n[6], n[7], n[7])
