"""`convert-loop-to-linalg`: programs of the `loop` layer as text that MLIR's own tools read.

Nests become `linalg.generic`, reads with pads `tensor.pad`, reshapes `tensor.collapse_shape` and
`tensor.expand_shape`. Nothing of Lamina's own is left: `lamina.*` attributes are dropped, unsigned
integers are signless as they are in MLIR.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ConvertLoopToLinalgPass(ModulePass):
    """Turn nests on tensors, fused or not, into `linalg` and `tensor` ops of MLIR."""

    name = "convert-loop-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.loop_to_linalg.programs import convert

        convert(op)
