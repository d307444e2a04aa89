"""Elementwise arithmetic, comparison, selection and conversion."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.elementwise import PRIMITIVES, Elementwise
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement, same_rounding
from lamina.lowering.core_aten_to_prims.table import Number, PrimsBuilder, lowers, truth
from lamina.lowering.promotion import common_element
from lamina.lowering.tensor_types import (
    broadcast_shapes,
    element_of,
    is_bool,
    is_complex,
    is_float,
    shape_of,
)

LOWERED: dict[str, Elementwise] = {
    name: row
    for row in PRIMITIVES.values()
    if row.core and not row.composed
    for name in row.overload_names
}
"""Overloads that are one primitive, but for promotion and broadcasting."""

ON_BOOL = {"mul": "bitwise_and", "maximum": "bitwise_or", "minimum": "bitwise_and"}
"""What these are on bools."""


def _element(op: SchemaOp) -> Attribute:
    return element_of(op.results[0])


def _shape(op: SchemaOp) -> list[int]:
    return shape_of(op.results[0])


def operands(
    op: SchemaOp, b: PrimsBuilder, *names: str, element: Attribute | None = None
) -> list[SSAValue]:
    """These arguments, tensors or numbers, in the result's shape and dtype (or `element`)."""
    to = _element(op) if element is None else element
    return [b.value(op.arg(name), _shape(op), to) for name in names]


@lowers(*LOWERED)
def elementwise(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One primitive on operands in the result's dtype, or for comparisons in their common one."""
    row, element = LOWERED[op.overload_name], _element(op)
    names = [argument.name for argument in op.schema.args[: row.operands]]
    if row.is_predicate:
        sides: list[SSAValue | Number] = [op.arg(name) for name in names]
        return b(row.name, *operands(op, b, *names, element=common_element(sides)))
    given = operands(op, b, *names)
    if row.rounds and not is_float(element):
        return given[0]
    return b(ON_BOOL.get(row.name, row.name) if is_bool(element) else row.name, *given)


@lowers("abs")
def absolute(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.abs, which is real for complex numbers."""
    return b("abs", op.arg("self"))


@lowers("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def add(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """self +- alpha * other; the sum of bools is `or`."""
    x, y = operands(op, b, "self", "other")
    alpha, element = op.arg("alpha"), _element(op)
    if is_bool(element):
        return b("bitwise_or", x, y) if alpha else x
    if alpha != 1:
        other = op.arg("other")
        if isinstance(other, SSAValue):
            y = b.with_number("mul", b.convert(other, element), alpha)
            y = b.broadcast(y, _shape(op))
        else:
            y = b.full(_shape(op), other * alpha, element)
    return b("add" if op.overload_name.startswith("add") else "sub", x, y)


@lowers("div.Tensor_mode", "div.Scalar_mode")
def div_mode(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Division, rounded by `rounding_mode`."""
    x, y = operands(op, b, "self", "other")
    mode, floating = op.arg("rounding_mode"), is_float(_element(op))
    if mode is None:
        return b("div", x, y)
    if mode == "trunc":
        return b("trunc", b("div", x, y)) if floating else b("div", x, y)
    return _floor_div_float(b, x, y) if floating else _floor_div_integer(b, x, y)


def _floor_div_integer(b: PrimsBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """prims.div truncates: one less where the remainder is not 0 and the signs differ.

    By zero it divides as by one, which leaves no remainder.
    """
    quotient = b("div", x, y)
    rest = b("sub", x, b("mul", quotient, y))
    zero = b.full(shape_of(x), 0, element_of(x))
    inexact = b("bitwise_and", b("ne", rest, zero), b("ne", y, zero))
    differ = b("ne", b("lt", x, zero), b("lt", y, zero))
    lower = b.with_number("sub", quotient, 1)
    return b.where(b("bitwise_and", inexact, differ), lower, quotient)


def _floor_div_float(b: PrimsBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Exact by way of the remainder, as torch does (c10/util/generic_math.h)."""
    zero = b.full(shape_of(x), 0, element_of(x))
    rest = b("fmod", x, y)
    quotient = b("div", b("sub", x, rest), y)
    inexact = b("ne", rest, zero)
    differ = b("ne", b("lt", y, zero), b("lt", rest, zero))
    quotient = b.where(
        b("bitwise_and", inexact, differ), b.with_number("sub", quotient, 1), quotient
    )
    floored = b("floor", quotient)
    low = b.with_number("gt", b("sub", quotient, floored), 0.5)
    result = b.where(low, b.with_number("add", floored, 1), floored)
    plain = b("div", x, y)
    minus = b.full(shape_of(x), -0.0, element_of(x))
    signed_zero = b.where(b("signbit", plain), minus, zero)
    result = b.where(b("eq", quotient, zero), signed_zero, result)
    return b.where(b("eq", y, zero), plain, result)


@lowers("pow.Tensor_Tensor", "pow.Scalar")
def pow_(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.pow."""
    return b("pow", *operands(op, b, "self", "exponent"))


@lowers("pow.Tensor_Scalar")
def pow_number(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Small exponents become products and roots, as in torch's own kernel."""
    exponent = op.arg("exponent")
    (x,) = operands(op, b, "self")
    if exponent == 1:
        return x
    if exponent == 0:
        return b.full(_shape(op), 1, _element(op))
    if exponent in (2, 3):
        square = b("mul", x, x)
        return square if exponent == 2 else b("mul", square, x)
    if is_float(_element(op)):
        names = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
        if exponent in names:
            return b(names[exponent], x)
        if exponent == -2:
            return b("reciprocal", b("mul", x, x))
    return b("pow", x, b.full(_shape(op), exponent, _element(op)))


@lowers("logical_and", "logical_or", "logical_xor")
def logical(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The bitwise op on bools."""
    x, y = operands(op, b, "self", "other", element=i1)
    return b(op.overload_name.partition(".")[0].replace("logical", "bitwise"), x, y)


@lowers("logical_not")
def logical_not(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """not (x != 0)."""
    return b("bitwise_not", truth(b, op.arg("self")))


@lowers("isnan")
def isnan(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """x != x."""
    x = op.arg("self")
    return b("ne", x, x) if _may_be_special(x) else b.full(_shape(op), False, i1)


@lowers("isinf")
def isinf(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """|x| == inf."""
    x = op.arg("self")
    if is_complex(element_of(x)):
        sizes = [b("abs", b(name, x)) for name in ("real", "imag")]
        return b("bitwise_or", *(b.with_number("eq", size, float("inf")) for size in sizes))
    if not is_float(element_of(x)):
        return b.full(_shape(op), False, i1)
    return b.with_number("eq", b("abs", x), float("inf"))


def _may_be_special(x: SSAValue) -> bool:
    return is_float(element_of(x)) or is_complex(element_of(x))


@lowers("where.self")
def where(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Condition to bool, all broadcast."""
    condition = b.value(op.arg("condition"), _shape(op), i1)
    return b.where(condition, *operands(op, b, "self", "other"))


@lowers("clamp", "clamp.Tensor")
def clamp(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """minimum(maximum(x, min), max)."""
    (x,) = operands(op, b, "self")
    for name, combine in (("min", "maximum"), ("max", "minimum")):
        if op.arg(name) is not None:
            x = b(combine, x, *operands(op, b, name))
    return x


@lowers("_to_copy", "clone", "alias")
def convert(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """A conversion if the dtype changes."""
    return same_rounding(op, b.convert(op.arg("self"), _element(op)))


@lowers("copy")
def copy(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """src converted and broadcast."""
    return operands(op, b, "src")[0]


@lowers("frexp.Tensor")
def frexp(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """prims.frexp."""
    return list(b.op("frexp", op.arg("self")).results)


def broadcast_all(b: PrimsBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Tensors of one dtype, broadcast to their common shape."""
    shape = broadcast_shapes(*(shape_of(value) for value in values))
    return [b.broadcast(value, shape) for value in values]
