"""Result types of elementwise overloads: broadcast shapes, torch's promotion of element types."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType, f64, i1, i32, i64
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import (
    BOOL,
    COMPLEX,
    FLOAT,
    Number,
    category,
    complex_of,
    default_of,
    float_of,
    promote,
    real_of,
    result_dtype,
)
from lamina.dialects.schema.result_rules.shapes import (
    Args,
    Shape,
    Types,
    broadcast,
    first_tensor,
    tensor,
)

PROMOTING_NUMBERS = frozenset({"self", "other", "exponent", "min", "max", "x", "n"})
"""Number arguments that take part in promotion; others (alpha, slopes, ...) adapt to it."""


def operands(args: Args) -> list[TensorType | Number]:
    """The tensors and numbers that decide shape and element type."""
    found: list[TensorType | Number] = []
    for name, value in args.items():
        if isinstance(value, TensorType) or (
            name in PROMOTING_NUMBERS and isinstance(value, bool | int | float | complex)
        ):
            found.append(value)
    return found


def joint_shape(values: list[Any]) -> Shape:
    """The shape that the tensors among the values broadcast to."""
    shapes = [v.get_shape() for v in values if isinstance(v, TensorType)]
    return shapes[0] if len(shapes) == 1 else broadcast(*shapes)


def _result(args: Args, dtype: Attribute | None = None) -> tuple[Shape, Attribute]:
    values = operands(args)
    return joint_shape(values), dtype or result_dtype(values)


def promoting(args: Args) -> Types:
    """Common element type of the operands: `add`, `maximum`, `relu`."""
    shape, dtype = _result(args)
    return [tensor(shape, dtype)]


def floating(args: Args) -> Types:
    """As `promoting`, with f32 for integers: `exp`, true division."""
    shape, dtype = _result(args)
    return [tensor(shape, float_of(dtype))]


def boolean(args: Args) -> Types:
    """Bool of the broadcast shape: comparisons, logic, `isnan`."""
    values = operands(args)
    return [tensor(joint_shape(values), i1)]


def integral(args: Args) -> Types:
    """As `promoting`, of bool and integers only: bitwise operations."""
    shape, dtype = _result(args)
    if category(dtype) > 1:
        raise ValueError(f"needs bool or integers, not {dtype}")
    return [tensor(shape, dtype)]


def number_like(args: Args) -> Types:
    """As `promoting`, not of bool: subtraction, negation."""
    shape, dtype = _result(args)
    if category(dtype) == BOOL:
        raise ValueError("is not defined for bool; use bitwise_xor or logical_not")
    return [tensor(shape, dtype)]


def subtraction(args: Args) -> Types:
    """`sub` and `rsub`: no operand may be bool."""
    for value in operands(args):
        dtype = value.element_type if isinstance(value, TensorType) else default_of(value)
        if dtype == i1:
            raise ValueError("is not defined for bool; use bitwise_xor or logical_xor")
    return promoting(args)


def real(args: Args) -> Types:
    """As `promoting`, with the type of the parts for complex: `abs`."""
    shape, dtype = _result(args)
    return [tensor(shape, real_of(dtype))]


def real_floating(args: Args) -> Types:
    """As `floating`, with the type of the parts for complex: `angle`."""
    shape, dtype = _result(args)
    return [tensor(shape, real_of(float_of(dtype)))]


def division_with_mode(args: Args) -> Types:
    """True division without a rounding mode, else the operands' type."""
    mode = args["rounding_mode"]
    if mode not in (None, "trunc", "floor"):
        raise ValueError(f"rounding_mode must be none, 'trunc' or 'floor', not '{mode}'")
    return floating(args) if mode is None else promoting(args)


def double(args: Args) -> Types:
    """`float_power`: f64, or complex128."""
    shape, dtype = _result(args)
    return [tensor(shape, promote(dtype, f64) if category(dtype) == COMPLEX else f64)]


def square(args: Args) -> Types:
    """`square` is a power by 2, which makes integers of bool."""
    shape, dtype = _result(args)
    return [tensor(shape, i64 if category(dtype) == BOOL else dtype)]


def frexp(args: Args) -> Types:
    """Mantissa and i32 exponent."""
    own: TensorType = args["self"]
    return [own, tensor(own.get_shape(), i32)]


def same(args: Args) -> Types:
    """The first tensor's type."""
    return [first_tensor(args)]


def where(args: Args) -> Types:
    """Condition, and two values that promote: tensors or numbers."""
    condition: TensorType = args["condition"]
    if condition.element_type != i1 and str(condition.element_type) != "ui8":
        raise ValueError(f"the condition must be bool, got {condition}")
    values: list[Any] = [args["self"], args["other"]]
    return [tensor(joint_shape([condition, *values]), result_dtype(values))]


def masked_fill(args: Args) -> Types:
    """`self` where the mask is false: self's element type, broadcast shape."""
    own, mask = args["self"], args["mask"]
    if mask.element_type != i1:
        raise ValueError(f"the mask must be bool, got {mask}")
    value = args["value"]
    if isinstance(value, TensorType) and value.get_shape():
        raise ValueError(f"the value must be a 0-d tensor, got {value}")
    return [tensor(broadcast(own.get_shape(), mask.get_shape()), own.element_type)]


def complex_from_parts(args: Args) -> Types:
    """`complex` and `polar`: two float tensors of one type."""
    shape, dtype = _result(args)
    parts = [v.element_type for v in args.values() if isinstance(v, TensorType)]
    if category(dtype) != FLOAT or parts[0] != parts[1]:
        raise ValueError(f"needs two tensors of one float type, got {parts[0]} and {parts[1]}")
    return [tensor(shape, complex_of(dtype))]


def prelu(args: Args) -> Types:
    """The input's type; the weight holds one slope or one for each channel (dim 1)."""
    own, weight = args["self"], args["weight"]
    shape, slopes = own.get_shape(), weight.get_shape()
    if own.element_type != weight.element_type:
        raise ValueError(f"input {own} and weight {weight} differ in element type")
    channels = shape[1] if len(shape) > 1 else 1
    if len(slopes) == 1 and slopes[0] not in (1, channels) and min(slopes[0], channels) >= 0:
        raise ValueError(f"{slopes[0]} slopes for {channels} channels")
    return [own]


def condition_shape(args: Args) -> Types:
    """`bucketize` and `searchsorted`: indices of the values' shape."""
    dtype = i32 if args["out_int32"] else i64
    values = args["self"]
    shape = values.get_shape() if isinstance(values, TensorType) else ()
    return [tensor(shape, dtype)]


def pointwise(args: Args) -> Types:
    """Fallback for overloads tagged pointwise."""
    return promoting(args)
