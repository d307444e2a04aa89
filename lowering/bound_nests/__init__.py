"""`bound-nests`: nests whose extents are sizes of a call run over the bounds of these.

What `bound-dynamic-shapes` does with ops on tensors, this pass does with nests, for programs that
enter as loops. A `tensor<?x8xf32>` of a size in [0, 128] becomes a `tensor<128x8xf32>`, and the
size one more input, a 0-d tensor of i64. Results are padded and marked with their sizes in the same
way, so that `limit-rows` and all that follows end loops there. What the padding holds is not
defined:

- reductions leave out positions that do not count, and products have zeros there,
- reads with a pad find the pad there, and where an index follows from a size, elements are looked
  up (`loop.read`) at places that are inside whatever the sizes are,
- indirect reads end at the sizes (`below`), and scatters write nothing for padding,
- padding of rows that are sorted goes last, and that of scans is behind all that counts,
- offsets of segments have the end of what counts behind them,
- reshapes move elements where those behind an outermost dimension would not stay where they are,
- regions of branches and loops get the sizes as tensors; a scan of open length hands nothing on.

Calls of kernels are refused, and steps of such a scan that may fail.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


class BoundNestsPass(ModulePass):
    """Pad nests of open extents up to the bounds of these, and mask what does not count."""

    name = "bound-nests"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.bound_nests.program import bound_nests
        from lamina.passes.contracts.argument_sizes import has_open_program
        from lamina.passes.regions.outline_regions import OutlineRegionsPass

        if not has_open_program(op):
            return  # nearly all programs
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                bound_nests(function)
        OutlineRegionsPass().apply(ctx, op)  # they stayed in functions of open sizes until now
