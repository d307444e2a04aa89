"""`math` ops: LLVM intrinsics where the CPU has the instruction, our vector math elsewhere."""

from xdsl.dialects import math
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation

from lamina.codegen import vector_math
from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.arith import fastmath
from lamina.codegen.llvm_emitter.vector import fused_multiply_add
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.dialects.elementwise import ROWS
from lamina.dialects.loop.rounding import FLUSHED
from lamina.dialects.loop.scalar_ops import scalar_op_class
from lamina.dialects.loop.special import SpecialOp
from lamina.dialects.op_accessors import first_result

_INTRINSICS: dict[type[Operation], str] = {
    scalar_op_class(row.loop): row.intrinsic for row in ROWS if row.intrinsic
}
_INTEGER_INTRINSICS: dict[type[Operation], tuple[str, str]] = {
    math.AbsIOp: ("abs", ", i1 false"),
    math.CountLeadingZerosOp: ("ctlz", ", i1 false"),
    math.CountTrailingZerosOp: ("cttz", ", i1 false"),
    math.CtPopOp: ("ctpop", ""),
}
#: Ops computed by functions of our own; the name is the function's in `vector_math`.
_FUNCTIONS: dict[type[Operation], str] = {
    scalar_op_class(row.loop): row.name
    for row in ROWS
    if row.vector and row.loop and not row.is_special
}

INLINED_CALLS = 16
"""Calls of vector functions that LLVM inlines in a function; any further stay calls. They cost 3 %
of the time where many are, and the code of a chain of functions grows with its length only."""


def _float_operands(w: FunctionWriter, op: Operation) -> list[str]:
    if isinstance(types.element_of(first_result(op).type), BFloat16Type):
        raise unsupported(op, "nothing computes in bf16", "arith.extf to f32 and arith.truncf back")
    return [w.value(v) for v in op.operands]


def _intrinsic(w: FunctionWriter, op: Operation) -> None:
    operands = _float_operands(w, op)
    type_ = w.type(first_result(op))
    w.bind(first_result(op), w.intrinsic(_INTRINSICS[type(op)], type_, operands, fastmath(op)))


def _integer_intrinsic(w: FunctionWriter, op: Operation) -> None:
    stem, more = _INTEGER_INTRINSICS[type(op)]
    type_ = w.type(first_result(op))
    name = f"llvm.{stem}.{types.mangled(type_)}"
    w.module.declare(name, type_, type_ + (", i1" if more else ""))
    w.bind(first_result(op), w.call(name, type_, w.typed(op.operands[0]) + more))


def _fma(w: FunctionWriter, op: math.FmaOp) -> None:
    operands = _float_operands(w, op)
    w.bind(op.result, fused_multiply_add(w, w.type(op.result), operands))


def _function(w: FunctionWriter, op: Operation) -> None:
    operands = _float_operands(w, op)
    result = first_result(op)
    if isinstance(types.element_of(result.type), Float16Type):
        raise unsupported(op, "computes in f32 or f64", "arith.extf to f32 and arith.truncf back")
    w.bind(result, call_function(w, _FUNCTIONS[type(op)], w.type(result), operands))


def _exponential(w: FunctionWriter, op: math.ExpOp) -> None:
    """One whose subnormal results may be 0 has a function that makes none."""
    if FLUSHED not in op.attributes or isinstance(types.element_of(op.result.type), Float16Type):
        _function(w, op)
        return
    operands = _float_operands(w, op)
    w.bind(op.result, call_function(w, "exp_flushed", w.type(op.result), operands))


def call_function(w: FunctionWriter, stem: str, type_: str, operands: list[str]) -> str:
    """Calls one of our vector functions on f32 or f64 scalars or vectors of any lane count."""
    name = vector_math.require(w.module, stem, type_)
    w.vector_calls += 1
    ending = "" if w.vector_calls <= INLINED_CALLS else " noinline"
    arguments = ", ".join(f"{type_} {operand}" for operand in operands)
    return w.emit(f"call {type_} @{name}({arguments}){ending}")


def _special(w: FunctionWriter, op: SpecialOp) -> None:
    operands = [w.value(v) for v in op.operands]
    w.bind(op.result, call_function(w, op.function.data, w.type(op.result), operands))


EMITTERS: dict[type[Operation], Emitter] = {
    **dict.fromkeys(_INTRINSICS, _intrinsic),
    **dict.fromkeys(_INTEGER_INTRINSICS, _integer_intrinsic),
    **dict.fromkeys(_FUNCTIONS, _function),
    math.ExpOp: _exponential,
    math.FmaOp: _fma,
    SpecialOp: _special,
}
