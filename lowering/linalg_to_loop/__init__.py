"""`convert-linalg-to-loop`: programs of MLIR's `linalg` and `tensor` become loop nests.

`linalg` is a source layer: a program may enter there, and goes on at `loop`. Families of ops are
lowered by the modules beside this file. Numbers outside of bodies become tensors of rank 0.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ConvertLinalgToLoopPass(ModulePass):
    """Lower `linalg` and `tensor` ops, and `arith` and `math` on tensors, to loop nests."""

    name = "convert-linalg-to-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.linalg_to_loop.table import LOWERINGS

        LOWERINGS.convert(op)
