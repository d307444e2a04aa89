"""Scalar arithmetic on torch's element types, in `arith` and `math` ops.

Torch's meaning where MLIR's differs: division of integers rounds toward zero, comparisons with NaN
are false but for `ne`, maximum and minimum keep NaN, bools are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.loop.rounding import is_half, mark_implicit
from lamina.dialects.loop.scalar_ops import (
    binary_op,
    compare_op,
    scalar_op,
    scalar_op_class,
    select_op,
)
from lamina.dialects.loop.special import SpecialOp

Number: TypeAlias = IntegerAttr | FloatAttr
"""A constant of an element type."""

FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)


class ScalarBody(Protocol):
    """Where scalar ops go."""

    def add(self, op: Operation) -> SSAValue: ...
    def constant(self, value: float, kind: Attribute) -> SSAValue: ...


def number(value: float, kind: Attribute) -> Number:
    """A constant of the element type; bools are 0 and 1, integers wrap to their width, and floats
    that are too large for it are infinite, as where torch computes with a number."""
    if isinstance(kind, IndexType):
        return IntegerAttr(int(value), kind)
    if isinstance(kind, IntegerType):
        bits = kind.width.data
        wrapped = int(value) & ((1 << bits) - 1)
        if bits > 1 and wrapped >> (bits - 1) and kind.signedness.data != Signedness.UNSIGNED:
            wrapped -= 1 << bits
        return IntegerAttr(wrapped, kind)
    assert isinstance(kind, AnyFloat)
    try:
        return FloatAttr(float(value), kind)
    except OverflowError:  # from `struct`, or of an integer beyond f64
        return FloatAttr(inf if value > 0 else -inf, kind)


def is_float(kind: Attribute) -> bool:
    """Whether a type is f16, bf16, f32 or f64."""
    return isinstance(kind, FLOATS)


def is_unsigned(kind: Attribute) -> bool:
    """Unsigned integers, and bools."""
    return kind == i1 or (
        isinstance(kind, IntegerType) and kind.signedness.data == Signedness.UNSIGNED
    )


def widen(b: ScalarBody, value: SSAValue) -> SSAValue:
    """Half floats as f32, in which they are computed; others as they are."""
    return b.add(scalar_op(arith.ExtFOp, value, result=f32)) if is_half(value.type) else value


def narrow(b: ScalarBody, value: SSAValue, kind: Attribute) -> SSAValue:
    """Back to a half float if that is what is wanted; not a rounding that the program asks for."""
    if value.type == kind:
        return value
    rounded = scalar_op(arith.TruncFOp, value, result=kind)
    mark_implicit(rounded)
    return b.add(rounded)


def compare(b: ScalarBody, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
    """`eq`, `ne`, `lt`, `le`, `gt` or `ge` as a bool."""
    left, right = widen(b, left), widen(b, right)
    if is_float(left.type):
        kind = "une" if predicate == "ne" else f"o{predicate}"
        return b.add(compare_op(left, right, kind))
    if predicate in ("eq", "ne"):
        return b.add(compare_op(left, right, predicate))
    sign = "u" if is_unsigned(left.type) else "s"
    return b.add(compare_op(left, right, sign + predicate))


def select(b: ScalarBody, on: SSAValue, left: SSAValue, right: SSAValue) -> SSAValue:
    """`left` where the bool holds, else `right`."""
    return b.add(select_op(on, left, right))


def truth(b: ScalarBody, value: SSAValue) -> SSAValue:
    """Whether a value is not zero (NaN is not)."""
    if value.type == i1:
        return value
    return compare(b, "ne", value, b.constant(0, value.type))


def rounded(b: ScalarBody, value: SSAValue, kind: Attribute) -> SSAValue:
    """An op's result in its own type, from the type in which it was computed."""
    return narrow(b, value, kind) if is_half(kind) else convert(b, value, kind)


def convert(b: ScalarBody, value: SSAValue, kind: Attribute) -> SSAValue:
    """A value as another element type, as `Tensor.to` would."""
    given = value.type
    if given == kind:
        return value
    if kind == i1:
        return truth(b, value)
    if is_float(given):
        return _convert_float(b, value, kind)
    if is_float(kind):
        wide = f32 if is_half(kind) else kind
        cast = arith.UIToFPOp if is_unsigned(given) else arith.SIToFPOp
        made = b.add(cast(value, wide))  # pyright: ignore[reportArgumentType]
        if wide == kind or given.width.data <= 8:  # pyright: ignore[reportAttributeAccessIssue]
            return narrow(b, made, kind)  # exact in any half float
        return b.add(arith.TruncFOp(made, kind))  # pyright: ignore[reportArgumentType]
    assert isinstance(given, IntegerType) and isinstance(kind, IntegerType)
    if given.width.data == kind.width.data:
        return b.add(arith.BitcastOp(value, kind))
    if given.width.data > kind.width.data:
        return b.add(arith.TruncIOp(value, kind))
    cast = arith.ExtUIOp if is_unsigned(given) else arith.ExtSIOp
    return b.add(cast(value, kind))


def _convert_float(b: ScalarBody, value: SSAValue, kind: Attribute) -> SSAValue:
    if is_float(kind):
        given_bits, bits = value.type.bitwidth, kind.bitwidth  # pyright: ignore
        if given_bits == bits:  # f16 and bf16
            return b.add(arith.TruncFOp(widen(b, value), kind))  # pyright: ignore
        if given_bits < bits:
            return b.add(arith.ExtFOp(value, kind))  # pyright: ignore[reportArgumentType]
        if is_half(kind) and given_bits == 64:
            # By way of f32, as torch does it; no CPU rounds from f64 at once.
            value = b.add(arith.TruncFOp(value, f32))
        return b.add(arith.TruncFOp(value, kind))  # pyright: ignore[reportArgumentType]
    return _float_to_integer(b, widen(b, value), kind)


def _float_to_integer(b: ScalarBody, value: SSAValue, kind: Attribute) -> SSAValue:
    """Toward zero. Narrow and unsigned types go through a signed one that is wider, and wrap."""
    assert isinstance(kind, IntegerType)
    bits = kind.width.data
    if bits == 64 and is_unsigned(kind):
        return b.add(arith.FPToUIOp(value, kind))  # pyright: ignore[reportArgumentType]
    if bits == 64 or (bits == 32 and not is_unsigned(kind)):
        return b.add(arith.FPToSIOp(value, kind))  # pyright: ignore[reportArgumentType]
    wide = b.add(arith.FPToSIOp(value, i32 if bits < 32 else i64))  # pyright: ignore
    return b.add(arith.TruncIOp(wide, kind))


Unary = Callable[[ScalarBody, SSAValue], SSAValue]
Binary = Callable[[ScalarBody, SSAValue, SSAValue], SSAValue]


class NotDefinedError(Exception):
    """An operation that an element type does not have."""


def binary(
    float_op: type[Operation] | None,
    signed_op: type[Operation],
    unsigned_op: type[Operation] | None = None,
    *,
    bools: bool = False,
) -> Binary:
    """A binary op by element type; the result raises NotDefinedError on types it lacks."""

    def emit(b: ScalarBody, left: SSAValue, right: SSAValue) -> SSAValue:
        kind = left.type
        op = float_op if is_float(kind) else signed_op
        if unsigned_op is not None and is_unsigned(kind):
            op = unsigned_op
        if op is None or (kind == i1 and not bools):
            raise NotDefinedError(f"is not defined on {'bools' if kind == i1 else kind}")
        return b.add(binary_op(op, left, right))

    return emit


BY_NAME: dict[str, Binary] = {
    row.name: binary(
        scalar_op_class(row.loop) if row.loop else None,
        scalar_op_class(row.integer),
        scalar_op_class(row.unsigned) if row.unsigned else None,
        bools=row.bools,
    )
    for row in PRIMITIVES.values()
    if row.operands == 2 and row.integer.startswith("arith.") and not row.is_special
}
"""Primitives of two operands that are one op of `arith`, whatever the type."""

add, sub, mul, divide = (BY_NAME[name] for name in ("add", "sub", "mul", "div"))
maximum, minimum = BY_NAME["maximum"], BY_NAME["minimum"]
bitwise_and, bitwise_or, bitwise_xor = (
    BY_NAME[name] for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
)
modulo = binary(None, arith.RemSIOp, arith.RemUIOp)


def floor_remainder(b: ScalarBody, left: SSAValue, right: SSAValue) -> SSAValue:
    """Remainder with the divisor's sign, as Python's `%`."""
    kind = left.type
    if is_float(kind):
        rest = truncated_remainder(b, left, right)
    elif is_unsigned(kind):
        return modulo(b, left, right)
    else:
        rest = modulo(b, left, right)
    zero = b.constant(0, kind)
    nonzero = compare(b, "ne", rest, zero)
    differ = b.add(arith.XOrIOp(compare(b, "lt", rest, zero), compare(b, "lt", right, zero)))
    wrong = b.add(arith.AndIOp(nonzero, differ))
    return select(b, wrong, add(b, rest, right), rest)


def truncated_remainder(b: ScalarBody, left: SSAValue, right: SSAValue) -> SSAValue:
    """Remainder with the dividend's sign, as C's fmod: exact."""
    if not is_float(left.type):
        return modulo(b, left, right)
    return b.add(SpecialOp("fmod", [left, right]))


def shift_left(b: ScalarBody, value: SSAValue, amount: SSAValue) -> SSAValue:
    """Shifts by the width or more, or by negative amounts, give 0."""
    zero = b.constant(0, value.type)
    return select(b, _in_width(b, amount), b.add(arith.ShLIOp(value, amount)), zero)


def shift_right(b: ScalarBody, value: SSAValue, amount: SSAValue) -> SSAValue:
    """Arithmetic (logical for unsigned); shifts by the width or more leave the sign."""
    op = arith.ShRUIOp if is_unsigned(value.type) else arith.ShRSIOp
    fits = _in_width(b, amount)
    if is_unsigned(value.type):
        return select(b, fits, b.add(op(value, amount)), b.constant(0, value.type))
    most = b.constant(width_of(value.type) - 1, value.type)
    return b.add(op(value, select(b, fits, amount, most)))


def width_of(kind: Attribute) -> int:
    """Bits of an integer type."""
    assert isinstance(kind, IntegerType)
    return kind.width.data


def _in_width(b: ScalarBody, amount: SSAValue) -> SSAValue:
    """Whether a shift amount is at least 0 and below the width."""
    width = b.constant(width_of(amount.type), amount.type)
    return b.add(compare_op(amount, width, "ult"))
