"""Keys as unsigned integers in the order of a row: equal keys are equal, NaN is the largest."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, i1, i32, i64
from xdsl.ir import SSAValue

from lamina.passes.schedule.emitter import Emitter


def ordinal_type(width: int) -> IntegerType:
    """Of the ordinals of keys of so many bits: narrow ones are widened, and never negative."""
    return i64 if width > 32 else i32


def ordinal(emit: Emitter, key: SSAValue, down: bool) -> SSAValue:
    """A number that is less, unsigned, the sooner a key goes; equal keys have equal ones."""
    number = _ascending(emit, key)
    if not down:
        return number
    kind = key.type
    assert isinstance(kind, AnyFloat | IntegerType)
    into = ordinal_type(kind.bitwidth)
    mask = (1 << min(kind.bitwidth, into.bitwidth)) - 1
    return emit.add(arith.XOrIOp(number, emit.number(_signed(mask, into), into)))


def _ascending(emit: Emitter, key: SSAValue) -> SSAValue:
    kind = key.type
    if isinstance(kind, AnyFloat):
        return _of_float(emit, key, kind.bitwidth)
    assert isinstance(kind, IntegerType)
    unsigned = kind == i1 or kind.signedness.data == Signedness.UNSIGNED
    if kind.signedness.data == Signedness.UNSIGNED:
        key = emit.add(arith.BitcastOp(key, IntegerType(kind.bitwidth)))
    if not unsigned:
        low = emit.number(-(1 << (kind.bitwidth - 1)), key.type)
        key = emit.add(arith.XOrIOp(key, low))
    return key if kind.bitwidth >= 32 else emit.add(arith.ExtUIOp(key, i32))


def _of_float(emit: Emitter, key: SSAValue, width: int) -> SSAValue:
    """The bits, inverted for negative numbers; zeros are one, and NaN is the largest."""
    into = ordinal_type(width)
    zero = emit.number(0.0, key.type)
    bits = emit.add(arith.BitcastOp(emit.add(arith.AddfOp(key, zero)), into))
    last = width - 1
    is_nan = emit.add(arith.CmpfOp(key, key, "uno"))
    bits = emit.add(arith.SelectOp(is_nan, emit.number((1 << last) - 1, into), bits))
    sign = emit.add(arith.ShRSIOp(bits, emit.number(last, into)))
    flip = emit.add(arith.OrIOp(sign, emit.number(-(1 << last), into)))
    return emit.add(arith.XOrIOp(bits, flip))


def _signed(value: int, kind: IntegerType) -> int:
    """The number of that type with these bits."""
    return value - (1 << kind.bitwidth) if value >> (kind.bitwidth - 1) else value
