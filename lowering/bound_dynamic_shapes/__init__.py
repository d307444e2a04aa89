"""`bound-dynamic-shapes`: sizes that depend on data become counts beside tensors of static size.

Every such size has an upper bound, for example the number of elements for `nonzero`. A tensor of
type `tensor<?x...>` becomes one padded up to the bound, with the size as a 0-d tensor of i64. What
the padding holds is not defined: ops that would mix it with elements mask it first, each in its own
way. Results are returned padded, their sizes as further results of kind `size`, and checks on sizes
as results of kind `check`: the caller of the compiled program cuts and checks.

Families of ops are bounded by the modules beside this file; what has no entry is refused.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from lamina.passes.contracts.stages import stages_of


class BoundDynamicShapesPass(ModulePass):
    """Pad tensors whose size depends on data, and carry the sizes along."""

    name = "bound-dynamic-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from lamina.lowering.bound_dynamic_shapes.program import bound_function

        if stages_of(op):
            return  # each is bounded on its own, for sizes that calls bring
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                bound_function(function)
