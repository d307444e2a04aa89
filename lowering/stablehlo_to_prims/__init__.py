"""`convert-stablehlo-to-prims`: programs of JAX and TensorFlow become Lamina's.

StableHLO has explicit types and shapes, as `prims` has. Branches and loops become ops of `control`
(`control_flow.py`), the bodies of reductions, sorts and scatters those of nests
(`scalar_bodies.py`), and what takes places in a tensor from the data is a nest at once. Families of
ops are lowered by the modules beside this file; ops without a lowering stand in `limitations.tsv`
with the reason.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ConvertStableHLOToPrimsPass(ModulePass):
    """Lower `stablehlo` and `chlo` to `prims`, `control` and nests of `loop`."""

    name = "convert-stablehlo-to-prims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.stablehlo_to_prims.program import convert_program

        convert_program(op)
