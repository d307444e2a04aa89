"""`loop.dot_pairs` as the dot products of bf16 that x86-64 has beside AVX-512 (`vdpbf16ps`)."""

from xdsl.ir import Operation

from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.dialects.loop.dot_pairs import DotPairsOp

_BITS = (128, 256, 512)
"""Widths of a register of them."""


def _dot(w: FunctionWriter, op: DotPairsOp) -> None:
    target, lanes = w.module.target, types.lanes(op.total.type)
    if not target.has("avx512bf16") or 32 * lanes not in _BITS:
        raise unsupported(
            op, f"the target {target.name} has no dot products of bf16 in {lanes} lanes"
        )
    pairs, total = f"<{2 * lanes} x bfloat>", w.type(op.total)
    name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
    w.module.declare(name, total, f"{total}, {pairs}, {pairs}")
    left, right = (
        w.emit(f"bitcast {w.typed(operand)} to {pairs}") for operand in (op.left, op.right)
    )
    # What is broadcast from memory can be the last operand of the instruction only.
    arguments = f"{w.typed(op.total)}, {pairs} {right}, {pairs} {left}"
    w.bind(op.result, w.call(name, total, arguments))


EMITTERS: dict[type[Operation], Emitter] = {DotPairsOp: _dot}
