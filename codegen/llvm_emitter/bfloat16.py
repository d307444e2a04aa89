"""Conversions between bf16, which is sixteen bits to LLVM, and other floats."""

import struct
from collections.abc import Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.float16 import truncate_in_steps
from lamina.codegen.llvm_emitter.writer import LIKELY, FunctionWriter, unsupported
from lamina.dialects.loop import vector_arith
from lamina.dialects.loop.rounding import FLUSHED

MOST_STEPS = 12
"""How many ops are followed to see that a number has the digits of bf16."""
ROUNDED_LANES = 16
"""f32 that one instruction rounds to bf16: a register of 512 bits."""
SUBNORMAL = 0x20
"""What `vfpclassps` calls subnormal numbers of either sign."""
KEEPING = (
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
    math.AbsFOp,
    vector.BroadcastOp,
)
"""What gives one of its operands, or that with another sign."""


def extend(w: FunctionWriter, op: arith.ExtFOp) -> None:
    """A float to a wider one; bf16 are the upper halves of f32."""
    source, count = op.input, types.count_of(op.input.type)
    if not isinstance(types.element_of(source.type), BFloat16Type):
        w.assign(op.result, f"fpext {w.typed(source)} to {w.type(op.result)}")
        return
    wide, single = types.vector_of("i32", count), types.vector_of("float", count)
    bits = w.emit(f"zext {w.typed(source)} to {wide}")
    shift = types.splat("i32", "16") if count else "16"
    high = w.emit(f"shl {wide} {bits}, {shift}")
    value = w.emit(f"bitcast {wide} {high} to {single}")
    if w.type(op.result) != single:
        value = w.emit(f"fpext {single} {value} to {w.type(op.result)}")
    w.bind(op.result, value)


def truncate(w: FunctionWriter, op: arith.TruncFOp) -> None:
    """A float to the nearest narrower one; of f32 that are bf16 already, the upper half."""
    source = op.input
    if not isinstance(types.element_of(op.result.type), BFloat16Type):
        if truncate_in_steps(w, op):
            return
        w.assign(op.result, f"fptrunc {w.typed(source)} to {w.type(op.result)}")
        return
    if not isinstance(types.element_of(source.type), Float32Type):
        raise unsupported(op, "rounds to bf16 from f32 only", "arith.truncf to f32 first")
    count = types.count_of(source.type)
    by_instruction = count == ROUNDED_LANES and w.module.target.has("avx512bf16")
    if FLUSHED in op.attributes and by_instruction:
        w.bind(op.result, _flushed(w, w.value(source)))
    elif is_bfloat16(source):
        w.bind(op.result, upper_half(w, w.value(source), count))
    elif by_instruction:
        w.bind(op.result, _rounded(w, w.value(source)))
    else:
        w.bind(op.result, round_to_bfloat16(w, w.value(source), count))


def _flushed(w: FunctionWriter, value: str) -> str:
    """Sixteen f32 to the nearest bfloat16, subnormals to zero, in one instruction."""
    single, half = types.vector_of("float", ROUNDED_LANES), f"<{ROUNDED_LANES} x bfloat>"
    name = w.module.declare("llvm.x86.avx512bf16.cvtneps2bf16.512", half, single)
    made = w.call(name, half, f"{single} {value}")
    return w.emit(f"bitcast {half} {made} to {types.vector_of('i16', ROUNDED_LANES)}")


def _rounded(w: FunctionWriter, value: str) -> str:
    """Sixteen f32 to the nearest bfloat16, in one instruction where none is subnormal: 0.62 ns for
    a vector, 1.38 in integers (a Zen 4)."""
    single, mask = types.vector_of("float", ROUNDED_LANES), types.vector_of("i1", ROUNDED_LANES)
    half = types.vector_of("i16", ROUNDED_LANES)
    name = w.module.declare("llvm.x86.avx512.fpclass.ps.512", mask, f"{single}, i32")
    found = w.call(name, mask, f"{single} {value}, i32 {SUBNORMAL}")
    bits = w.emit(f"bitcast {mask} {found} to i{ROUNDED_LANES}")
    none = w.emit(f"icmp eq i{ROUNDED_LANES} {bits}, 0")
    rare, done = w.label("subnormal"), w.label("rounded")
    quick, entry = _flushed(w, value), w.block
    w.branch(none, done, rare, LIKELY)
    w.start_block(rare)
    exact = round_to_bfloat16(w, value, ROUNDED_LANES)
    w.jump(done)
    w.start_block(done)
    return w.emit(f"phi {half} [ {quick}, %{entry} ], [ {exact}, %{rare} ]")


def is_bfloat16(value: SSAValue, depth: int = MOST_STEPS) -> bool:
    """Whether an f32 surely is one of bf16: it was one, and kept its digits."""
    op = value.owner
    if depth == 0 or not isinstance(op, Operation):
        return False
    if isinstance(op, arith.ExtFOp):
        return isinstance(types.element_of(op.input.type), BFloat16Type)
    if isinstance(op, arith.ConstantOp):
        return all(map(_has_short_digits, _numbers(op.value)))
    if isinstance(op, arith.SelectOp | vector_arith.SelectOp):
        return all(is_bfloat16(v, depth - 1) for v in op.operands[1:])
    return isinstance(op, KEEPING) and all(is_bfloat16(v, depth - 1) for v in op.operands)


def _numbers(value: Attribute) -> Sequence[float]:
    if isinstance(value, FloatAttr):
        return (value.value.data,)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return [float(number) for number in value.get_values()]
    return (0.1,)


def _has_short_digits(number: float) -> bool:
    """Whether the lower half of a number as f32 is zero."""
    return struct.pack("<f", number)[:2] == bytes(2)


def upper_half(w: FunctionWriter, value: str, count: int) -> str:
    """The bfloat16 that an f32 is, whose lower half is zero."""
    single, wide = types.vector_of("float", count), types.vector_of("i32", count)
    bits = w.emit(f"bitcast {single} {value} to {wide}")
    high = w.emit(f"lshr {wide} {bits}, {types.splat('i32', '16') if count else '16'}")
    return w.emit(f"trunc {wide} {high} to {types.vector_of('i16', count)}")


def round_to_bfloat16(w: FunctionWriter, value: str, count: int) -> str:
    """f32 to the nearest bfloat16, ties to even, NaN kept quiet; in integers.

    LLVM calls a library for this where the CPU has no instruction, and the x86 instruction
    takes subnormals for zeros.
    """
    single, wide = types.vector_of("float", count), types.vector_of("i32", count)
    condition, narrow = types.vector_of("i1", count), types.vector_of("i16", count)

    def constant(number: int) -> str:
        return types.splat("i32", str(number)) if count else str(number)

    bits = w.emit(f"bitcast {single} {value} to {wide}")
    high = w.emit(f"lshr {wide} {bits}, {constant(16)}")
    odd = w.emit(f"and {wide} {high}, {constant(1)}")
    half = w.emit(f"add {wide} {odd}, {constant(0x7FFF)}")
    rounded = w.emit(f"add {wide} {bits}, {half}")
    shifted = w.emit(f"lshr {wide} {rounded}, {constant(16)}")
    quiet = w.emit(f"or {wide} {high}, {constant(0x40)}")
    nan = w.emit(f"fcmp uno {single} {value}, {value}")
    chosen = w.emit(f"select {condition} {nan}, {wide} {quiet}, {wide} {shifted}")
    return w.emit(f"trunc {wide} {chosen} to {narrow}")
