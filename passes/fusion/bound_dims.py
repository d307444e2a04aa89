"""`bound-dims`: nests of a kernel are told where a mask of positions leaves them nothing to do.

Half of the scores under a causal mask, and all but a band of them under a sliding window, are -inf.
The bounds of their rows stand in `lamina.bounds`, where `schedule` finds them; `loop.generic`'s
own domain stays whole, since all that is left out would change nothing.
"""

from __future__ import annotations

from xdsl.dialects import func

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounded_dims import bounded_dims, bounds_of
from lamina.dialects.loop.bounds import BOUNDS
from lamina.passes.kernel_passes import KernelPass


class BoundDimsPass(KernelPass):
    """Note the bounds of dimensions on the nests of outlined kernels."""

    name = "bound-dims"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        nests = [nest for nest in block_ops(kernel.body.block) if isinstance(nest, GenericOp)]
        for nest, (dim, bounds) in bounded_dims(nests).items():
            nest.attributes[BOUNDS] = bounds_of(nest, dim, bounds)
