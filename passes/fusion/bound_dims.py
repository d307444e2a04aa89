"""`bound-dims`: nests of a kernel are told where a mask of positions leaves them nothing to do.

Half of the scores under a causal mask, and all but a band of them under a sliding window, are -inf.
The bounds of their rows stand in `lamina.bounds`, where `schedule` finds them; `loop.generic`'s
own domain stays whole, since all that is left out would change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounded_dims import bounded_dims, bounds_of
from lamina.dialects.loop.bounds import BOUNDS
from lamina.passes.fusion.outline_kernels import kernel_functions


@dataclass(frozen=True)
class BoundDimsPass(ModulePass):
    """Note the bounds of dimensions on the nests of outlined kernels."""

    name = "bound-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel_functions(op):
            nests = [nest for nest in block_ops(function.body.block) if isinstance(nest, GenericOp)]
            for nest, (dim, bounds) in bounded_dims(nests).items():
                nest.attributes[BOUNDS] = bounds_of(nest, dim, bounds)
