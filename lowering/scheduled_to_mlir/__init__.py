"""`convert-scheduled-to-mlir`: scheduled programs as text that MLIR's own tools read.

What is left are `scf`, `memref`, `vector`, `arith`, `math`, `cf` and `func`. Teams of threads are
one thread: their kernels follow one another. `scf.parallel` stays.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ConvertScheduledToMlirPass(ModulePass):
    """Turn the few `loop` ops of a scheduled program into those of MLIR's dialects."""

    name = "convert-scheduled-to-mlir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.scheduled_to_mlir.table import convert

        convert(op)
