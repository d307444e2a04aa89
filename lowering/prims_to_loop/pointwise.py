"""Elementwise primitives: one scalar body each, on operands of equal shape."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.loop.rounding import FLUSHED, IMPLICIT, mark_implicit
from lamina.dialects.loop.scalar_ops import scalar_op_class
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.scalar import Binary, ScalarBody, Unary, compare, is_float, is_unsigned, select
from lamina.lowering.tensor_types import element_of


def _abs(b: ScalarBody, x: SSAValue) -> SSAValue:
    if is_float(x.type):
        return b.add(math.AbsFOp(x))
    return x if is_unsigned(x.type) else b.add(math.AbsIOp(x))


def _neg(b: ScalarBody, x: SSAValue) -> SSAValue:
    if is_float(x.type):
        return b.add(arith.NegfOp(x))
    return scalar.sub(b, b.constant(0, x.type), x)


def _reciprocal(b: ScalarBody, x: SSAValue) -> SSAValue:
    return scalar.divide(b, b.constant(1, x.type), x)


def _sign(b: ScalarBody, x: SSAValue) -> SSAValue:
    zero = b.constant(0, x.type)
    positive = compare(b, "gt", x, zero)
    if is_unsigned(x.type):
        return select(b, positive, b.constant(1, x.type), zero)
    negative = compare(b, "lt", x, zero)
    # torch gives 0 for NaN.
    low = select(b, negative, b.constant(-1, x.type), zero)
    return select(b, positive, b.constant(1, x.type), low)


def _bitwise_not(b: ScalarBody, x: SSAValue) -> SSAValue:
    return scalar.bitwise_xor(b, x, b.constant(1 if x.type == i1 else -1, x.type))


UNARY: dict[str, Unary] = {
    "abs": _abs,
    "neg": _neg,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "bitwise_not": _bitwise_not,
    "clone": lambda b, x: x,
    "copy_strided": lambda b, x: x,
    "device_put": lambda b, x: x,
    "conj_physical": lambda b, x: x,
    "conj": lambda b, x: x,
    "view_of": lambda b, x: x,
}


def _atan2(b: ScalarBody, y: SSAValue, x: SSAValue) -> SSAValue:
    return b.add(math.Atan2Op(y, x))


def _hypot(b: ScalarBody, x: SSAValue, y: SSAValue) -> SSAValue:
    """Scaled by the larger magnitude, so that squares neither overflow nor vanish."""
    x, y = _abs(b, x), _abs(b, y)
    large, small = scalar.maximum(b, x, y), scalar.minimum(b, x, y)
    ratio = scalar.divide(b, small, large)
    one = b.constant(1, x.type)
    root = b.add(math.SqrtOp(b.add(math.FmaOp(ratio, ratio, one))))
    zero = b.constant(0, x.type)
    infinite = b.constant(float("inf"), x.type)
    scaled = scalar.mul(b, large, root)
    scaled = select(b, compare(b, "eq", large, zero), zero, scaled)
    either = b.add(arith.OrIOp(compare(b, "eq", x, infinite), compare(b, "eq", y, infinite)))
    return select(b, either, infinite, scaled)


def _prefer_number(extreme: Binary) -> Binary:
    """fmax and fmin: NaN only where both are."""

    def emit(b: ScalarBody, x: SSAValue, y: SSAValue) -> SSAValue:
        if not is_float(x.type):
            return extreme(b, x, y)
        only_y = select(b, compare(b, "ne", x, x), y, extreme(b, x, y))
        return select(b, compare(b, "ne", y, y), x, only_y)

    return emit


BINARY: dict[str, Binary] = scalar.BY_NAME | {
    "fmax": _prefer_number(scalar.maximum),
    "fmin": _prefer_number(scalar.minimum),
    "shift_left": scalar.shift_left,
    "shift_right_arithmetic": scalar.shift_right,
    "remainder": scalar.floor_remainder,
    "fmod": scalar.truncated_remainder,
    "atan2": _atan2,
    "hypot": _hypot,
}


MATH: dict[str, type[Operation]] = {
    row.name: scalar_op_class(row.loop)
    for row in PRIMITIVES.values()
    if row.operands == 1 and row.name not in UNARY and row.loop.startswith("math.")
}
"""Functions of one float, with an op of their own."""


@lowers(*MATH, *UNARY)
def _unary(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    name = op.name.partition(".")[2]
    element = element_of(op.results[0])

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        x = scalar.widen(inner, args[0])
        if name in UNARY:
            return scalar.narrow(inner, UNARY[name](inner, x), element)
        if PRIMITIVES[name].rounds and not is_float(x.type):
            return x
        if not is_float(x.type):
            raise b.refuse("takes floating-point tensors", "prims.convert_element_type before it")
        function = MATH[name](x)  # pyright: ignore[reportCallIssue]
        if FLUSHED in op.attributes:
            function.attributes[FLUSHED] = op.attributes[FLUSHED]
        made = inner.add(function)
        return scalar.narrow(inner, made, element)

    return b.pointwise([op.operands[0]], element, body)


@lowers(*BINARY)
def _binary(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    name = op.name.partition(".")[2]
    element = element_of(op.results[0])

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        x, y = (scalar.widen(inner, a) for a in args)
        return scalar.narrow(inner, BINARY[name](inner, x, y), element)

    return b.pointwise(list(op.operands), element, body)


@lowers(*(row.name for row in PRIMITIVES.values() if row.is_predicate and row.operands == 2))
def _comparison(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    predicate = op.name.partition(".")[2]
    return b.pointwise(list(op.operands), i1, lambda inner, a: compare(inner, predicate, *a))


@lowers("isfinite")
def _isfinite(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        x = scalar.widen(inner, args[0])
        if not is_float(x.type):
            return inner.constant(1, i1)
        size = inner.add(math.AbsFOp(x))
        return compare(inner, "lt", size, inner.constant(float("inf"), x.type))

    return b.pointwise([op.operands[0]], i1, body)


@lowers("signbit")
def _signbit(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        x = scalar.widen(inner, args[0])
        if is_float(x.type):
            one = inner.constant(1, x.type)
            x = inner.add(math.CopySignOp(one, x))
        return compare(inner, "lt", x, inner.constant(0, x.type))

    return b.pointwise([op.operands[0]], i1, body)


@lowers("where")
def _where(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    element = element_of(op.results[0])
    return b.pointwise(list(op.operands), element, lambda inner, a: select(inner, *a))


@lowers("convert_element_type")
def _convert(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    element = element_of(op.results[0])
    implicit = IMPLICIT in op.attributes

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        if not implicit:
            return scalar.convert(inner, args[0], element)
        made = scalar.rounded(inner, args[0], element)
        if isinstance(made.owner, arith.ExtFOp):
            mark_implicit(made.owner)
        return made

    return b.pointwise([op.operands[0]], element, body)
