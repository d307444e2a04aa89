"""What ops compute of one element of each operand, as scalar ops of a nest's body.

Most functions are primitives of the same meaning (`PLAIN`); others differ from torch's where XLA
says what happens at the edges: division by zero, shifts beyond the width, conversions that do not
fit. All are for real numbers; half floats come widened to f32.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, Signedness, i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.loop.scalar_ops import scalar_op_class
from lamina.dialects.loop.special import SpecialOp
from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.dialects.stablehlo.op_table import CHLO, STABLEHLO
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop import pointwise
from lamina.lowering.prims_to_loop.power import integer_power
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.scalar import NotDefinedError, compare, is_float, is_unsigned, select, width_of
from lamina.lowering.tensor_types import element_of

_OTHER_NAMES = {
    "and": "bitwise_and",
    "cosine": "cos",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "is_finite": "isfinite",
    "log_plus_one": "log1p",
    "logistic": "sigmoid",
    "multiply": "mul",
    "negate": "neg",
    "next_after": "nextafter",
    "not": "bitwise_not",
    "or": "bitwise_or",
    "round_nearest_even": "round",
    "sine": "sin",
    "subtract": "sub",
    "xor": "bitwise_xor",
}

ON_BOOL = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and", "subtract": "xor"}
"""What these are on bools."""

Function = Callable[[Body, HloOp, list[SSAValue]], SSAValue]

FUNCTIONS: dict[str, Function] = {}
"""Functions that are no primitive, by the op's name without the dialect."""


def _function(*names: str) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return decorate


def computed(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """An elementwise op on scalars, in its result's type. Raises NotDefinedError for others."""
    name = op.name.partition(".")[2]
    element = element_of(op.results[0])
    given = [scalar.widen(b, value) for value in args]
    if name in FUNCTIONS:
        made = FUNCTIONS[name](b, op, given)
    else:
        if given and given[0].type == i1:
            name = ON_BOOL.get(name, name)
        made = _primitive(b, PLAIN.get(name, ""), op, given)
    return scalar.narrow(b, made, element)


def _primitive(b: Body, name: str, op: HloOp, args: list[SSAValue]) -> SSAValue:
    if name in pointwise.UNARY:
        return pointwise.UNARY[name](b, args[0])
    if name in pointwise.BINARY:
        return pointwise.BINARY[name](b, args[0], args[1])
    if name == "isfinite":
        size = b.add(math.AbsFOp(args[0]))
        return compare(b, "lt", size, b.constant(float("inf"), size.type))
    row = PRIMITIVES.get(name)
    if row is None or not row.loop:
        raise NotDefinedError(f"{op.name} in a body of scalars")
    if not is_float(args[0].type):
        if row.rounds:
            return args[0]
        raise NotDefinedError(f"{op.name} of {args[0].type}")
    if row.is_special:
        return b.add(SpecialOp(name, args))
    return b.add(scalar_op_class(row.loop)(*args))


DIRECTIONS = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


@_function("compare")
def _compare(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    predicate = DIRECTIONS[word(op.attr("comparison_direction"))]
    if word(op.attr("compare_type")) == "TOTALORDER" and is_float(args[0].type):
        args = [total_order(b, value) for value in args]
    return compare(b, predicate, args[0], args[1])


def total_order(b: Body, x: SSAValue) -> SSAValue:
    """An integer that is ordered as a float is: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    bits = x.type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    kind = IntegerType(bits)
    given = b.add(arith.BitcastOp(x, kind))
    sign = b.add(arith.ShRSIOp(given, b.constant(bits - 1, kind)))
    mask = b.add(arith.AndIOp(sign, b.constant((1 << bits - 1) - 1, kind)))
    return b.add(arith.XOrIOp(given, mask))


@_function("select")
def _select(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    return select(b, *args)


@_function("clamp")
def _clamp(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    low, x, high = args
    return scalar.minimum(b, scalar.maximum(b, x, low), high)


@_function("divide")
def _divide(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """An integer by zero is -1, all bits; the least one by -1 is itself."""
    x, y = args
    kind = x.type
    if is_float(kind):
        return scalar.divide(b, x, y)
    zero, ones = b.constant(0, kind), b.constant(-1, kind)
    by_zero = compare(b, "eq", y, zero)
    safe = select(b, by_zero, b.constant(1, kind), y)
    if is_unsigned(kind):
        return select(b, by_zero, ones, scalar.divide(b, x, safe))
    negated = compare(b, "eq", y, ones)
    safe = select(b, negated, b.constant(1, kind), safe)
    quotient = select(b, negated, scalar.sub(b, zero, x), scalar.divide(b, x, safe))
    return select(b, by_zero, ones, quotient)


@_function("remainder")
def _remainder(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """With the dividend's sign; of an integer by zero the dividend."""
    x, y = args
    kind = x.type
    if is_float(kind):
        return scalar.truncated_remainder(b, x, y)
    by_zero = compare(b, "eq", y, b.constant(0, kind))
    unsafe = by_zero
    if not is_unsigned(kind):
        unsafe = b.add(arith.OrIOp(by_zero, compare(b, "eq", y, b.constant(-1, kind))))
    safe = select(b, unsafe, b.constant(1, kind), y)
    return select(b, by_zero, x, scalar.modulo(b, x, safe))


@_function("power")
def _power(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """Integers by squaring; of negative exponents what is left of 1 / x."""
    x, y = args
    return b.add(math.PowFOp(x, y)) if is_float(x.type) else integer_power(b, x, y)


def _as_unsigned(kind: Attribute) -> IntegerType:
    return IntegerType(width_of(kind), Signedness.UNSIGNED)


def _as_signed(kind: Attribute) -> IntegerType:
    return IntegerType(width_of(kind))


@_function("shift_left")
def _shift_left(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    return scalar.shift_left(b, *args)


@_function("shift_right_logical")
def _shift_right_logical(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    kind = _as_unsigned(args[0].type)
    made = scalar.shift_right(b, *(scalar.convert(b, value, kind) for value in args))
    return scalar.convert(b, made, args[0].type)


@_function("shift_right_arithmetic")
def _shift_right_arithmetic(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    kind = _as_signed(args[0].type)
    made = scalar.shift_right(b, *(scalar.convert(b, value, kind) for value in args))
    return scalar.convert(b, made, args[0].type)


@_function("sign")
def _sign(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """Zeros and NaN are their own."""
    (x,) = args
    if not is_float(x.type):
        return pointwise.UNARY["sign"](b, x)
    zero = b.constant(0, x.type)
    low = select(b, compare(b, "lt", x, zero), b.constant(-1, x.type), x)
    return select(b, compare(b, "gt", x, zero), b.constant(1, x.type), low)


@_function("square")
def _square(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    return scalar.mul(b, args[0], args[0])


@_function("round_nearest_afz")
def _round_away(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    return b.add(math.RoundOp(args[0]))


@_function("is_inf", "is_pos_inf", "is_neg_inf")
def _is_infinite(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    (x,) = args
    if op.name.endswith(".is_inf"):
        x = b.add(math.AbsFOp(x))
    bound = float("-inf" if op.name.endswith("neg_inf") else "inf")
    return compare(b, "eq", x, b.constant(bound, x.type))


@_function("popcnt")
def _population(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    kind = args[0].type
    return scalar.convert(b, _ones(b, scalar.convert(b, args[0], _as_unsigned(kind))), kind)


@_function("count_leading_zeros")
def _leading_zeros(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    """Zeros in front of the first one: those of the complement of all bits behind it."""
    given = args[0].type
    kind = _as_unsigned(given)
    x = scalar.convert(b, args[0], kind)
    width, step = width_of(kind), 1
    while step < width:
        x = b.add(arith.OrIOp(x, b.add(arith.ShRUIOp(x, b.constant(step, kind)))))
        step *= 2
    rest = scalar.sub(b, b.constant(width, kind), _ones(b, x))
    return scalar.convert(b, rest, given)


def _ones(b: Body, x: SSAValue) -> SSAValue:
    """How many bits are set, by sums of neighbouring groups of bits."""
    kind = x.type
    width, step = width_of(kind), 1
    while step < width:
        mask = b.constant(sum(((1 << step) - 1) << at for at in range(0, width, 2 * step)), kind)
        high = b.add(arith.AndIOp(b.add(arith.ShRUIOp(x, b.constant(step, kind))), mask))
        x = scalar.add(b, b.add(arith.AndIOp(x, mask)), high)
        step *= 2
    return x


@_function("convert")
def _convert(b: Body, op: HloOp, args: list[SSAValue]) -> SSAValue:
    return converted(b, args[0], element_of(op.results[0]))


def converted(b: Body, x: SSAValue, kind: Attribute) -> SSAValue:
    """A number in another type. Floats beyond the range of an integer are its ends, NaN is 0."""
    if not is_float(x.type) or is_float(kind) or kind == i1:
        return scalar.convert(b, x, kind)
    width = width_of(kind)
    low = 0 if is_unsigned(kind) else -(1 << width - 1)
    high = (1 << (width if is_unsigned(kind) else width - 1)) - 1
    beyond = compare(b, "ge", x, b.constant(float(high + 1), x.type))
    below = compare(b, "le", x, b.constant(float(low), x.type))
    unknown = compare(b, "ne", x, x)
    outside = b.add(arith.OrIOp(b.add(arith.OrIOp(beyond, below)), unknown))
    safe = select(b, outside, b.constant(0, x.type), x)
    made = scalar.convert(b, safe, kind)
    made = select(b, beyond, b.constant(high, kind), made)
    return select(b, below, b.constant(low, kind), made)


PLAIN: dict[str, str] = {
    name: _OTHER_NAMES.get(name, name)
    for name, row in {**STABLEHLO, **CHLO}.items()
    if row.elementwise and name not in FUNCTIONS and (name in _OTHER_NAMES or name in PRIMITIVES)
}
"""Primitives that mean what an op means, by the op's name without the dialect."""
