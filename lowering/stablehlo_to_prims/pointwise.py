"""Elementwise ops: primitives, or nests of one scalar body where no primitive means the same."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.stablehlo_to_prims.scalar_functions import (
    DIRECTIONS,
    FUNCTIONS,
    ON_BOOL,
    PLAIN,
    computed,
)
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers, result_element
from lamina.lowering.tensor_types import (
    element_of,
    is_complex,
    is_float,
    is_unsigned,
    rank_of,
    shape_of,
)

FORMATS = {(5, 10): f16, (8, 7): bf16, (8, 23): f32, (11, 52): f64}
"""Bits of exponents and mantissas of types."""

_ALWAYS_NESTS = tuple(
    name
    for name in FUNCTIONS
    if name
    not in (
        "compare",
        "select",
        "clamp",
        "convert",
        "sign",
        "square",
        "divide",
        "power",
        "remainder",
    )
)


@lowers(*(name for name in PLAIN if name not in ("conj", "digamma", "imag", "real")))
def plain(op: HloOp, b: HloBuilder) -> SSAValue:
    """The primitive of the same meaning."""
    name = op.name.partition(".")[2]
    element = element_of(op.operands[0])
    if element == i1:
        name = ON_BOOL.get(name, name)
    if is_complex(element) and name in ("logistic", "atan2", "maximum", "minimum", "cbrt"):
        raise b.refuse("is not lowered for complex numbers", "real tensors")
    if isinstance(element, IntegerType) and name == "is_finite":
        return b.full(shape_of(op.operands[0]), True, i1)
    if name == "abs" and is_unsigned(element):
        return op.operands[0]
    return b(PLAIN[name], *op.operands)


def nest(op: HloOp, b: HloBuilder) -> SSAValue:
    """One nest."""

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        return computed(inner, op, args)

    return b.loop.pointwise(list(op.operands), result_element(op), body)


lowers(*_ALWAYS_NESTS)(nest)


@lowers("divide")
def divide(op: HloOp, b: HloBuilder) -> SSAValue:
    """Floats and complex numbers by the primitive; integers as XLA divides them."""
    inexact = is_float(result_element(op)) or is_complex(result_element(op))
    return b("div", *op.operands) if inexact else nest(op, b)


@lowers("remainder")
def remainder(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.fmod of floats; integers as XLA divides them."""
    return b("fmod", *op.operands) if is_float(result_element(op)) else nest(op, b)


@lowers("power")
def power(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.pow."""
    return b("pow", *op.operands)


@lowers("square")
def square(op: HloOp, b: HloBuilder) -> SSAValue:
    """x * x."""
    return b("mul", op.operands[0], op.operands[0])


@lowers("sign")
def sign(op: HloOp, b: HloBuilder) -> SSAValue:
    """x / |x| of complex numbers, 0 of 0."""
    x = op.operands[0]
    if not is_complex(element_of(x)):
        return nest(op, b)
    size = b("abs", x)
    zero = b.full(shape_of(size), 0, element_of(size))
    divided = b("div", x, b("complex", size, zero))
    return b.where(b("eq", size, zero), x, divided)


@lowers("compare")
def compare(op: HloOp, b: HloBuilder) -> SSAValue:
    """A predicate; total orders of floats are those of their bits."""
    predicate = word(op.attr("comparison_direction"))
    if predicate not in DIRECTIONS:
        raise b.refuse(f"no comparison '{predicate}'", ", ".join(DIRECTIONS))
    element = element_of(op.operands[0])
    if word(op.attr("compare_type")) == "TOTALORDER" and is_float(element):
        return nest(op, b)
    if is_complex(element) and predicate not in ("EQ", "NE"):
        raise b.refuse("orders complex numbers", "EQ and NE")
    return b(DIRECTIONS[predicate], *op.operands)


@lowers("select")
def select(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.where; one predicate may choose for all."""
    on, x, y = op.operands
    return b.where(on if rank_of(on) else b.splat(on, shape_of(x)), x, y)


@lowers("clamp")
def clamp(op: HloOp, b: HloBuilder) -> SSAValue:
    """minimum(maximum(x, low), high); bounds may be one number."""
    low, x, high = op.operands
    low, high = (y if rank_of(y) else b.splat(y, shape_of(x)) for y in (low, high))
    return b("minimum", b("maximum", x, low), high)


@lowers("convert")
def convert(op: HloOp, b: HloBuilder) -> SSAValue:
    """Floats beyond the range of an integer are its ends; imaginary parts go."""
    x = op.operands[0]
    given, element = element_of(x), result_element(op)
    if is_complex(given) or is_complex(element):
        if is_complex(given) and not is_complex(element):
            x = b("real", x)
        return b.convert(x, element)
    if is_float(given) and isinstance(element, IntegerType) and element != i1:
        return nest(op, b)
    return b.convert(x, element)


@lowers("reduce_precision")
def reduce_precision(op: HloOp, b: HloBuilder) -> SSAValue:
    """By way of the format if it is one of f16, bf16 and f32; numbers too small for it are 0."""
    x = op.operands[0]
    element = element_of(x)
    wanted = op.int("exponent_bits"), op.int("mantissa_bits")
    own = next((f for f, e in FORMATS.items() if str(e) == str(element)), None)
    if own is None:
        raise b.refuse(f"of {element}", "floats")
    if wanted[0] >= own[0] and wanted[1] >= own[1]:
        return x
    if wanted not in FORMATS:
        raise b.refuse(f"to e{wanted[0]}m{wanted[1]}", "e5m10 (f16), e8m7 (bf16), e8m23 (f32)")
    rounded = b.convert(b.convert(x, FORMATS[wanted]), element)
    if wanted[0] >= own[0]:
        return rounded
    least = 2.0 ** (2 - (1 << wanted[0] - 1))
    small = b.with_number("lt", b("abs", rounded), least)
    zero = b("mul", x, b.full(shape_of(x), 0, element))
    return b.where(small, zero, rounded)
