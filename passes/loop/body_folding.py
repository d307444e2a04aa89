"""Simplification of scalar bodies: constants, exact identities, equal ops computed once.

Nothing here may change a result, signed zeros and NaN included. One walk over a body, in order, so
that every op sees simplified operands; the time is linear in the body.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Hashable
from math import frexp, isfinite
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.rounding import IMPLICIT
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.op_disposal import erase, replace
from lamina.dialects.op_effects import is_free_of_effects

Number: TypeAlias = IntegerAttr | FloatAttr


Constants: TypeAlias = dict[Attribute, SSAValue]
"""The constants of the body so far, by value (bits and type)."""


def simplify_body(block: Block) -> None:
    """Fold, simplify and merge the ops of a body, then drop those nobody uses."""
    seen: dict[Hashable, Operation] = {}
    constants: Constants = {}
    for op in block_ops(block):
        if not op.results or op.regions:
            continue
        if type(op) is arith.SelectOp:
            _chosen_before(op)
        value = _folded(op, constants) or _same(op)
        if value is None and type(op) is arith.ConstantOp:
            first = constants.setdefault(op.value, op.result)
            value = first if first is not op.result else None
        if value is not None:
            replace(op, [], [value])
            continue
        op = _cheaper(op, constants)
        first = seen.setdefault(_key(op), op)
        if first is not op:
            replace(op, [], first.results)
    for op in reversed(block_ops(block)):
        if op.results and not any(r.first_use for r in op.results) and is_free_of_effects(op):
            erase(op)


def constant_of(value: SSAValue) -> Number | None:
    """The number that an `arith.constant` gives, or None."""
    owner = value.owner
    if type(owner) is not arith.ConstantOp:
        return None
    number = owner.value
    return number if isinstance(number, FloatAttr | IntegerAttr) else None


def _key(op: Operation) -> Hashable:
    return (
        op.name,
        operands_of(op),
        tuple(sorted(op.properties.items())),
        IMPLICIT in op.attributes,
        tuple(r.type for r in op.results),
    )


def _constant(number: Number, before: Operation, constants: Constants) -> SSAValue:
    """A constant of the body above `before`, made if there is none."""
    found = constants.get(number)
    if found is None:
        new = constant_op(number)
        block = before.parent
        assert block is not None
        block.insert_op_before(new, before)
        found = constants[number] = new.result
    return found


# Constants


def _wrapped(value: int, kind: Attribute) -> Number | None:
    """An integer of the type, modulo its width; None for types without `arith.constant`."""
    if isinstance(kind, IndexType):
        return IntegerAttr(value, kind)
    if not isinstance(kind, IntegerType) or kind.signedness.data != Signedness.SIGNLESS:
        return None
    width = kind.width.data
    value &= (1 << width) - 1
    if width > 1 and value >> (width - 1):
        value -= 1 << width
    return IntegerAttr(value, kind)


_PACKED: dict[type[Attribute], str] = {Float16Type: "e", Float32Type: "f", Float64Type: "d"}


def _rounded(value: float, kind: Attribute) -> Number | None:
    """A float of the type; None for NaN, overflow and types that Python cannot round to.

    Sums, products and quotients of f16 and f32 rounded to f64 first come out the same.
    """
    code = _PACKED.get(type(kind))
    if code is None or not isfinite(value):
        return None
    try:
        (value,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return None
    assert isinstance(kind, AnyFloat)
    return FloatAttr(value, kind)


_FLOAT_BINARY: dict[type[Operation], Callable[[float, float], float]] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
}

_INTEGER_BINARY: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor,
}

_FLOAT_CASTS = (arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp)
_INTEGER_CASTS = (arith.ExtSIOp, arith.TruncIOp, arith.IndexCastOp)


def _folded(op: Operation, constants: Constants) -> SSAValue | None:
    """The constant that an op of constants gives."""
    operands = operands_of(op)
    if not operands:
        return None
    numbers = [constant_of(o) for o in operands]
    given = [n.value.data for n in numbers if n is not None]
    if len(given) != len(numbers):
        return None
    number = evaluated(op, given)
    return None if number is None else _constant(number, op, constants)


def evaluated(op: Operation, given: list[int | float]) -> Number | None:
    """What an op of a body gives for these operands; None where it is not known exactly."""
    kind = op.results[0].type
    if (on_floats := _FLOAT_BINARY.get(type(op))) is not None:
        return _rounded(on_floats(*given), kind)
    if (on_integers := _INTEGER_BINARY.get(type(op))) is not None:
        return _wrapped(on_integers(*map(int, given)), kind)
    if isinstance(op, arith.DivfOp) and given[1]:
        return _rounded(given[0] / given[1], kind)
    if isinstance(op, arith.NegfOp):
        return _rounded(-given[0], kind)
    if isinstance(op, _FLOAT_CASTS) and abs(given[0]) < 1 << 53:
        return _rounded(float(given[0]), kind)
    if isinstance(op, _INTEGER_CASTS):
        return _wrapped(int(given[0]), kind)
    if isinstance(op, arith.ExtUIOp | arith.UIToFPOp):
        source = op.operands[0].type
        assert isinstance(source, IntegerType)
        value = int(given[0]) & ((1 << source.width.data) - 1)
        if isinstance(op, arith.ExtUIOp):
            return _wrapped(value, kind)
        return _rounded(value, kind) if value < 1 << 53 else None
    return None


# Identities


_COMMUTING: dict[type[Operation], float] = {
    arith.MulfOp: 1,
    arith.MuliOp: 1,
    arith.AddfOp: -0.0,
    arith.AddiOp: 0,
    arith.OrIOp: 0,
    arith.XOrIOp: 0,
    arith.AndIOp: -1,  # all bits set; xDSL keeps true as -1 too
}
"""Ops that give the other operand where one of them is this number."""

_NEUTRAL_RIGHT: dict[type[Operation], float] = {
    **_COMMUTING,
    arith.SubfOp: 0.0,
    arith.SubiOp: 0.0,
    arith.DivfOp: 1,
    arith.DivSIOp: 1,
    arith.DivUIOp: 1,
    math.PowFOp: 1,
}
"""Ops that give the left operand where the right one is this number."""


def _is(value: SSAValue, number: float) -> bool:
    """Whether a value is this constant; 0.0 and -0.0 differ."""
    found = constant_of(value)
    return found is not None and repr(float(found.value.data)) == repr(float(number))


def _same(op: Operation) -> SSAValue | None:
    """A value there already that the op always equals, bit for bit."""
    if (number := _NEUTRAL_RIGHT.get(type(op))) is not None:
        left, right = op.operands
        if _is(right, number):
            return left
        return right if type(op) in _COMMUTING and _is(left, number) else None
    if type(op) is arith.SelectOp:
        return _selected(op)
    if type(op) is arith.TruncFOp:
        widened = op.input.owner
        if isinstance(widened, arith.ExtFOp) and widened.input.type == op.result.type:
            return widened.input
    return None


def _selected(op: arith.SelectOp) -> SSAValue | None:
    if op.lhs is op.rhs:
        return op.lhs
    condition = constant_of(op.cond)
    if condition is None:
        return None
    return op.lhs if condition.value.data else op.rhs


def _chosen_before(op: arith.SelectOp) -> None:
    """Let a choice take what a choice by the same condition would have given it."""
    for side, arm in enumerate((op.lhs, op.rhs)):
        inner = arm.owner
        if isinstance(inner, arith.SelectOp) and inner.cond is op.cond:
            op.operands[1 + side] = (inner.lhs, inner.rhs)[side]


# Cheaper forms


def _cheaper(op: Operation, constants: Constants) -> Operation:
    """The op, or one that gives the same for less."""
    if type(op) is math.PowFOp:
        exponent = constant_of(op.rhs)
        return op if exponent is None else _expanded_power(op, exponent.value.data, constants)
    if type(op) is arith.DivfOp:
        divisor = constant_of(op.rhs)
        if divisor is not None and _has_exact_reciprocal(divisor):
            assert isinstance(divisor, FloatAttr)
            inverse = FloatAttr(1.0 / divisor.value.data, divisor.type)
            new = arith.MulfOp(op.lhs, _constant(inverse, op, constants), op.fastmath)
            Rewriter.replace_op(op, new)
            return new
    return op


def _has_exact_reciprocal(divisor: Number) -> bool:
    """Powers of two whose reciprocal is a normal number of the type too."""
    if type(divisor.type) not in (Float32Type, Float64Type):
        return False
    mantissa, exponent = frexp(divisor.value.data)
    return abs(mantissa) == 0.5 and abs(exponent) < 120


def _expanded_power(op: math.PowFOp, exponent: float, constants: Constants) -> Operation:
    """x**2, 3, -1, -2 and 0.5 as torch's own fast paths compute them."""
    base = op.lhs
    made: list[Operation] = []

    def add(new: Operation) -> SSAValue:
        made.append(new)
        return new.results[0]

    if exponent not in (2, 3, -1, -2, 0.5):
        return op
    result = base
    if exponent in (2, 3, -2):
        result = add(arith.MulfOp(base, base))
    if exponent == 3:
        result = add(arith.MulfOp(result, base))
    if exponent == 0.5:
        result = add(math.SqrtOp(base))
    if exponent < 0:
        assert isinstance(base.type, AnyFloat)
        one = _constant(FloatAttr(1.0, base.type), op, constants)
        result = add(arith.DivfOp(one, result))
    Rewriter.replace_op(op, made, [result])
    return made[-1]
