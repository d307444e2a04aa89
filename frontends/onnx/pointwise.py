"""Ops on elements: arithmetic, comparisons, logic, bits, conversions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from lamina.frontends.onnx.element_types import (
    DTYPES,
    ELEMENT_TYPES,
    LIMITS,
    element_type,
    name_of,
)
from lamina.frontends.onnx.narrow import converted
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Coded, Known, Value, element_of

_UNARY = {
    "Abs": "abs",
    "Neg": "neg",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Not": "logical_not",
    "BitwiseNot": "bitwise_not",
    "Reciprocal": "reciprocal",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
    "HardSwish": "hardswish",
    "Mish": "mish",
    "Det": "linalg_det",
}
_BINARY = {
    "Add": "add.Tensor",
    "Sub": "sub.Tensor",
    "Mul": "mul.Tensor",
    "Equal": "eq.Tensor",
    "Less": "lt.Tensor",
    "LessOrEqual": "le.Tensor",
    "Greater": "gt.Tensor",
    "GreaterOrEqual": "ge.Tensor",
    "And": "logical_and.default",
    "Or": "logical_or.default",
    "Xor": "logical_xor.default",
    "BitwiseAnd": "bitwise_and.Tensor",
    "BitwiseOr": "bitwise_or.Tensor",
    "BitwiseXor": "bitwise_xor.Tensor",
}


def _direct(name: str, count: int) -> Callable[[Node], Value]:
    return lambda n: n.op(name, *(n[i] for i in range(count)))


for _onnx, _aten in _UNARY.items():
    imports(_onnx)(_direct(f"{_aten}.default", 1))
for _onnx, _aten in _BINARY.items():
    imports(_onnx)(_direct(_aten, 2))


@imports("Div")
def divide(n: Node) -> Value:
    """Integers are divided towards zero."""
    if n.is_float():
        return n.op("div.Tensor", n[0], n[1])
    return n.op("div.Tensor_mode", n[0], n[1], rounding_mode="trunc")


@imports("Mod")
def modulo(n: Node) -> Value:
    """The sign of the divisor, or with `fmod` of the dividend."""
    return n.op("fmod.Tensor" if n.attr("fmod", 0) else "remainder.Tensor", n[0], n[1])


@imports("Pow")
def power(n: Node) -> Value:
    """The result has the type of the base."""
    element = n.element()
    exponent = n[1]
    if isinstance(exponent, Known) and exponent.array.size == 1 and exponent.array.ndim == 0:
        return n.cast(n.op("pow.Tensor_Scalar", n[0], exponent.array.item()), element)
    return n.cast(n.op("pow.Tensor_Tensor", n[0], exponent), element)


def _of_all(name: str) -> Callable[[Node], Value]:
    def run(n: Node) -> Value:
        found = n[0]
        for other in n.inputs[1:]:
            found = n.op(name, found, other)
        return found

    return run


imports("Sum")(_of_all("add.Tensor"))
imports("Max")(_of_all("maximum.default"))
imports("Min")(_of_all("minimum.default"))


@imports("Mean")
def mean(n: Node) -> Value:
    """The mean of several tensors."""
    return n.op("div.Scalar", _of_all("add.Tensor")(n), len(n.inputs))


@imports("Where")
def where(n: Node) -> Value:
    """Elements of one tensor or the other."""
    return n.op("where.self", n[0], n[1], n[2])


@imports("IsInf")
def is_infinite(n: Node) -> Value:
    """Infinities of one sign or both."""
    negative, positive = n.attr("detect_negative", 1), n.attr("detect_positive", 1)
    if negative and positive:
        return n.op("isinf.default", n[0])
    if not negative and not positive:
        return n.op("full.default", list(n.shape()), False, dtype=i1)
    return n.op("isneginf.default" if negative else "isposinf.default", n[0])


@imports("BitShift")
def shift(n: Node) -> Value:
    """Shifts of unsigned integers."""
    left = n.attr("direction") == "LEFT"
    shifted = n.op(f"bitwise_{'left' if left else 'right'}_shift.Tensor", n[0], n[1])
    return n.cast(shifted, n.element())


@imports("Cast")
def cast(n: Node) -> Value | Coded:
    """Conversion; float to bool is whether it is not zero."""
    code = int(n.attr("to"))
    to = element_type(code)
    if to is None:
        raise n.refuse(f"elements of type {name_of(code)}")
    return converted(n, n.tensor_at(0), to)


@imports("CastLike")
def cast_like(n: Node) -> Value | Coded:
    """Conversion to the type of another tensor."""
    like = n.tensor_at(1)
    to = like.type if isinstance(like, Coded) else element_of(like)
    return converted(n, n.tensor_at(0), to)


@imports("BitCast")
def bit_cast(n: Node) -> Value:
    """The same bits as another type of the same width."""
    code = int(n.attr("to"))
    if code not in ELEMENT_TYPES:
        raise n.refuse(f"elements of type {name_of(code)}")
    return n.op("view.dtype", n[0], ELEMENT_TYPES[code])


@imports("Clip", last=10)
def clip_attributes(n: Node) -> Value:
    """Bounds by attributes."""
    low, high = n.attr("min"), n.attr("max")
    return n[0] if low is None and high is None else n.op("clamp.default", n[0], low, high)


@imports("Clip", first=11)
def clip(n: Node) -> Value:
    """Bounds by inputs, either of which may be left out; the upper one wins."""
    value = n[0]
    if n.get(1) is not None:
        value = n.op("maximum.default", value, n[1])
    if n.get(2) is not None:
        value = n.op("minimum.default", value, n[2])
    return value


def saturated(n: Node, value: Value, like: Value) -> Value:
    """Floats that are whole numbers, in an integer type: what lies outside becomes a limit."""
    element = element_of(like)
    if element not in LIMITS:
        raise n.refuse(f"results of type {DTYPES[element]}")
    low, high = LIMITS[element]
    clamped: SSAValue = n.op("clamp.default", value, float(low), float(high))
    return n.cast(clamped, element)
