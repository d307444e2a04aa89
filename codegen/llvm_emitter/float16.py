"""Roundings of single numbers to f16 on CPUs that convert f32 only."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, Float64Type

from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.writer import FunctionWriter


def truncate_in_steps(w: FunctionWriter, op: arith.TruncFOp) -> bool:
    """Rounds a number to f16 by way of f32, where `op` asks for that; whether it does.

    Where x86-64 has no AVX512-FP16, a rounding from f64 to f16 is a call of compiler-rt's
    `__truncdfhf2`. LLVM asks for one, too, where a copysign in f64 is rounded to f32 and on to f16:
    it rounds the operand that gives the sign at once. So nothing is moved across the first
    rounding. Rounded twice, as torch does.
    """
    target = w.module.target
    if (
        types.count_of(op.result.type)
        or not isinstance(op.result.type, Float16Type)
        or target.architecture != "x86_64"
        or target.has("avx512fp16")
    ):
        return False
    value = w.value(op.input)
    if isinstance(op.input.type, Float64Type):
        value = w.emit(f"fptrunc double {value} to float")
    fence = w.module.declare("llvm.arithmetic.fence.f32", "float", "float")
    value = w.call(fence, "float", f"float {value}")
    w.assign(op.result, f"fptrunc float {value} to half")
    return True
