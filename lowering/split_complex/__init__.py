"""`split-complex`: primitives on complex numbers become primitives on their two parts.

After it, complex tensors are only taken apart (`prims.real`, `prims.imag`), put together
(`prims.complex`) and handed to extern kernels: at the edges of a program, where memory holds both
parts of each number side by side. Everything between works on two real tensors, so that fusion,
vectors and the schedule of products serve complex numbers as well.

Families of primitives are split by the modules beside this file.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class SplitComplexPass(ModulePass):
    """Replace `prims` ops on complex tensors by ops on their parts."""

    name = "split-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.split_complex.table import split_all

        split_all(op)
