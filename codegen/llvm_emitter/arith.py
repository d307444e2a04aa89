"""`arith` ops: scalars and vectors of integers, indices and floats."""

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.codegen.llvm_emitter import types, vector_division
from lamina.codegen.llvm_emitter.bfloat16 import extend, truncate
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.loop import vector_arith
from lamina.dialects.op_accessors import first_result, operands_of

_BINARY: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
}
_SHIFTS: dict[type[Operation], str] = {
    arith.ShLIOp: "shl",
    arith.ShRUIOp: "lshr",
    arith.ShRSIOp: "ashr",
}
_FLOAT_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "fadd",
    arith.SubfOp: "fsub",
    arith.MulfOp: "fmul",
    arith.DivfOp: "fdiv",
}
#: maximum and minimum give NaN for NaN; the sign of a zero result is not fixed (as in torch).
_FLOAT_EXTREMES: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}
_INTEGER_EXTREMES: dict[type[Operation], str] = {
    arith.MaxSIOp: "smax",
    arith.MinSIOp: "smin",
    arith.MaxUIOp: "umax",
    arith.MinUIOp: "umin",
}
_DIVISIONS: dict[type[Operation], str] = {
    arith.DivSIOp: "sdiv",
    arith.RemSIOp: "srem",
    arith.DivUIOp: "udiv",
    arith.RemUIOp: "urem",
}
_CASTS: dict[type[Operation], str] = {
    arith.FPToSIOp: "fptosi",
    arith.FPToUIOp: "fptoui",
    arith.SIToFPOp: "sitofp",
    arith.UIToFPOp: "uitofp",
    arith.ExtSIOp: "sext",
    arith.ExtUIOp: "zext",
    arith.TruncIOp: "trunc",
}
_CASTS.update({cast: _CASTS[cast.SCALAR] for cast in vector_arith.CASTS if cast.SCALAR in _CASTS})


def fastmath(op: Operation) -> str:
    """An op's fast-math flags as LLVM writes them, with a trailing blank if any."""
    flags = op.properties.get("fastmath")
    return "" if flags is None else _flags(flags)


@once_an_object
def _flags(flags: Any) -> str:
    return "".join(f"{flag.value} " for flag in flags.data)


def _no_bfloat(op: Operation, value: SSAValue) -> None:
    if type(types.element_of(value.type)) is BFloat16Type:
        raise unsupported(op, "nothing computes in bf16", "arith.extf to f32 and arith.truncf back")


def _constant(w: FunctionWriter, op: arith.ConstantOp) -> None:
    result = first_result(op)
    w.values[result] = types.literal(op.value, result.type)
    w.depths[result] = 0


def _binary(w: FunctionWriter, op: Operation) -> None:
    lhs, rhs = operands_of(op)
    w.assign(first_result(op), f"{_BINARY[type(op)]} {w.typed(lhs)}, {w.value(rhs)}")


def _shift(w: FunctionWriter, op: Operation) -> None:
    """Shifts by the width or more, or by less than 0, leave 0, or the sign (shrsi)."""
    value, amount = op.operands
    instruction = _SHIFTS[type(op)]
    width = types.element_bits(types.element_of(value.type))
    numbers = _constant_integers(amount)
    if numbers is not None and all(0 <= number < width for number in numbers):
        w.assign(first_result(op), f"{instruction} {w.typed(value)}, {w.value(amount)}")
        return
    type_, count = w.type(amount), types.count_of(amount.type)
    scalar = types.scalar_type(types.element_of(amount.type))
    condition = types.vector_of("i1", count)

    def constant(number: int) -> str:
        return types.splat(scalar, str(number)) if count else str(number)

    fits = w.emit(f"icmp ult {w.typed(amount)}, {constant(width)}")
    if instruction == "ashr":
        most = constant(width - 1)
        within = w.emit(f"select {condition} {fits}, {w.typed(amount)}, {type_} {most}")
        w.assign(first_result(op), f"ashr {w.typed(value)}, {within}")
        return
    # the shift may be poison where it is not selected
    shifted = w.emit(f"{instruction} {w.typed(value)}, {w.value(amount)}")
    zero = constant(0)
    w.assign(first_result(op), f"select {condition} {fits}, {type_} {shifted}, {type_} {zero}")


def _float_binary(w: FunctionWriter, op: Operation) -> None:
    lhs, rhs = operands_of(op)
    _no_bfloat(op, lhs)
    instruction = _FLOAT_BINARY[type(op)]
    w.assign(first_result(op), f"{instruction} {fastmath(op)}{w.typed(lhs)}, {w.value(rhs)}")


def _float_extreme(w: FunctionWriter, op: Operation) -> None:
    lhs, _rhs = operands_of(op)
    _no_bfloat(op, lhs)
    flags = fastmath(op)
    if "nsz" not in flags:
        flags = "nsz " + flags
    stem = _FLOAT_EXTREMES[type(op)]
    w.bind(
        first_result(op),
        w.intrinsic(stem, w.type(lhs), [w.value(v) for v in operands_of(op)], flags),
    )


def _integer_extreme(w: FunctionWriter, op: Operation) -> None:
    stem = _INTEGER_EXTREMES[type(op)]
    operands = [w.value(v) for v in op.operands]
    w.bind(first_result(op), w.intrinsic(stem, w.type(op.operands[0]), operands))


def _constant_integers(value: SSAValue) -> set[int] | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    numbers = getattr(owner.value, "get_values", None)
    return set(numbers()) if numbers else {owner.value.value.data}  # pyright: ignore


def _divisor(w: FunctionWriter, op: Operation, signed: bool) -> str:
    """The divisor, with 1 in place of what would make the CPU trap (0, and MIN / -1)."""
    lhs, rhs = op.operands
    bad = {0, -1} if signed else {0}
    numbers = _constant_integers(rhs)
    if numbers is not None and not numbers & bad:
        return w.value(rhs)
    type_, divisor = w.type(rhs), w.value(rhs)
    count = types.count_of(rhs.type)
    condition = types.vector_of("i1", count)
    scalar = types.scalar_type(types.element_of(rhs.type))

    def constant(number: int) -> str:
        return types.splat(scalar, str(number)) if count else str(number)

    trap = w.emit(f"icmp eq {type_} {divisor}, {constant(0)}")
    if signed:
        lowest = -(1 << (types.element_bits(types.element_of(rhs.type)) - 1))
        minus = w.emit(f"icmp eq {type_} {divisor}, {constant(-1)}")
        least = w.emit(f"icmp eq {type_} {w.value(lhs)}, {constant(lowest)}")
        both = w.emit(f"and {condition} {minus}, {least}")
        trap = w.emit(f"or {condition} {trap}, {both}")
    return w.emit(f"select {condition} {trap}, {type_} {constant(1)}, {type_} {divisor}")


def _division(w: FunctionWriter, op: Operation) -> None:
    """Division by zero has no result (the program must assert); it must not trap either."""
    instruction = _DIVISIONS[type(op)]
    divisor = _divisor(w, op, instruction.startswith("s"))
    lhs, type_ = w.value(op.operands[0]), w.type(op.operands[0])
    if _constant_integers(op.operands[1]) is None:
        kind = f"{instruction[0]}div"
        quotient = vector_division.quotient(w, kind, type_, lhs, divisor)
        if quotient is not None and kind == instruction:
            w.bind(first_result(op), quotient)
            return
        if quotient is not None:
            whole = w.emit(f"mul {type_} {quotient}, {divisor}")
            w.assign(first_result(op), f"sub {type_} {lhs}, {whole}")
            return
    w.assign(first_result(op), f"{instruction} {type_} {lhs}, {divisor}")


def _rounded_division(w: FunctionWriter, op: Operation) -> None:
    """floordivsi and ceildivsi: the truncated quotient, moved by one where that is wrong."""
    floor = isinstance(op, arith.FloorDivSIOp)
    lhs, _rhs = op.operands
    type_, count = w.type(lhs), types.count_of(lhs.type)
    condition = types.vector_of("i1", count)
    if type_ == condition:
        raise unsupported(op, "a quotient of one bit is not rounded", "arith.divsi")
    zero = "zeroinitializer" if count else "0"
    divisor = _divisor(w, op, True)
    quotient = None
    if _constant_integers(op.operands[1]) is None:
        quotient = vector_division.quotient(w, "sdiv", type_, w.value(lhs), divisor)
    quotient = quotient or w.emit(f"sdiv {w.typed(lhs)}, {divisor}")
    back = w.emit(f"mul {type_} {quotient}, {divisor}")
    inexact = w.emit(f"icmp ne {w.typed(lhs)}, {back}")
    signs = w.emit(f"xor {w.typed(lhs)}, {divisor}")
    below = w.emit(f"icmp {'slt' if floor else 'sge'} {type_} {signs}, {zero}")
    wrong = w.emit(f"and {condition} {inexact}, {below}")
    step = w.emit(f"{'sext' if floor else 'zext'} {condition} {wrong} to {type_}")
    w.assign(first_result(op), f"add {type_} {quotient}, {step}")


def _ceil_division_unsigned(w: FunctionWriter, op: Operation) -> None:
    lhs, _rhs = op.operands
    type_, condition = w.type(lhs), types.vector_of("i1", types.count_of(lhs.type))
    divisor = _divisor(w, op, False)
    quotient = w.emit(f"udiv {w.typed(lhs)}, {divisor}")
    back = w.emit(f"mul {type_} {quotient}, {divisor}")
    inexact = w.emit(f"icmp ne {w.typed(lhs)}, {back}")
    step = w.emit(f"zext {condition} {inexact} to {type_}")
    w.assign(first_result(op), f"add {type_} {quotient}, {step}")


def _compare_integers(w: FunctionWriter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    lhs, rhs = operands_of(op)
    w.assign(first_result(op), f"icmp {predicate} {w.typed(lhs)}, {w.value(rhs)}")


def _compare_floats(w: FunctionWriter, op: arith.CmpfOp) -> None:
    _no_bfloat(op, op.lhs)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    w.assign(op.result, f"fcmp {fastmath(op)}{predicate} {w.typed(op.lhs)}, {w.value(op.rhs)}")


def _select(w: FunctionWriter, op: arith.SelectOp) -> None:
    cond, lhs, rhs = operands_of(op)
    w.assign(first_result(op), f"select {w.typed(cond)}, {w.typed(lhs)}, {w.typed(rhs)}")


def _negate(w: FunctionWriter, op: arith.NegfOp) -> None:
    _no_bfloat(op, op.operand)
    w.assign(op.result, f"fneg {fastmath(op)}{w.typed(op.operand)}")


def _cast(w: FunctionWriter, op: Operation) -> None:
    for value in (op.operands[0], first_result(op)):
        _no_bfloat(op, value)
    w.assign(
        first_result(op),
        f"{_CASTS[type(op)]} {w.typed(op.operands[0])} to {w.type(first_result(op))}",
    )


def _same_width(a: Attribute, b: Attribute) -> bool:
    return types.element_bits(types.element_of(a)) == types.element_bits(types.element_of(b))


def _bitcast(w: FunctionWriter, op: arith.BitcastOp) -> None:
    source, target = w.type(op.input), w.type(op.result)
    if source == target:
        w.alias(op.result, op.input)
    else:
        w.assign(op.result, f"bitcast {source} {w.value(op.input)} to {target}")


def _index_cast(w: FunctionWriter, op: Operation) -> None:
    source, result = op.operands[0], first_result(op)
    if _same_width(source.type, result.type):
        w.alias(result, source)
        return
    bits = [types.element_bits(types.element_of(v.type)) for v in (source, result)]
    instruction = "trunc" if bits[0] > bits[1] else "sext"
    w.assign(result, f"{instruction} {w.typed(source)} to {w.type(result)}")


EMITTERS: dict[type[Operation], Emitter] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_SHIFTS, _shift),
    **dict.fromkeys(_FLOAT_BINARY, _float_binary),
    **dict.fromkeys(_FLOAT_EXTREMES, _float_extreme),
    **dict.fromkeys(_INTEGER_EXTREMES, _integer_extreme),
    **dict.fromkeys(_DIVISIONS, _division),
    **dict.fromkeys(_CASTS, _cast),
    arith.ConstantOp: _constant,
    arith.FloorDivSIOp: _rounded_division,
    arith.CeilDivSIOp: _rounded_division,
    arith.CeilDivUIOp: _ceil_division_unsigned,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    vector_arith.CmpiOp: _compare_integers,
    vector_arith.CmpfOp: _compare_floats,
    vector_arith.SelectOp: _select,
    **dict.fromkeys(vector_arith.CASTS, _cast),
    vector_arith.IndexCastOp: _index_cast,
    arith.NegfOp: _negate,
    arith.BitcastOp: _bitcast,
    arith.IndexCastOp: _index_cast,
    arith.ExtFOp: extend,
    arith.TruncFOp: truncate,
}
