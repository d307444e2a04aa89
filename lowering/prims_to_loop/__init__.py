"""`convert-prims-to-loop`: every primitive becomes loop nests with a scalar body.

Families of primitives are lowered by the modules beside this file. Primitives without a lowering
stand in `limitations.tsv` with the reason.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ConvertPrimsToLoopPass(ModulePass):
    """Lower `prims` ops to `loop.generic` and `loop.reshape`."""

    name = "convert-prims-to-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.prims_to_loop.table import LOWERINGS

        LOWERINGS.convert(op)
