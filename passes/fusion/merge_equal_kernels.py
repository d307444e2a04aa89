"""`merge-equal-kernels`: kernels that are equal but for their names become one.

`limit-rows` gives calls whose results are read in other ways kernels of their own, as the last
layer of a network. Often nothing can follow from the difference; then the copies are equal by the
time they are scheduled, and would be translated again and again.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.passes.fusion.outline_kernels import kernel_calls


class MergeEqualKernelsPass(ModulePass):
    """Have all calls of equal kernels call the first of them."""

    name = "merge-equal-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        alike: dict[Hashable, list[func.FuncOp]] = {}
        calls = kernel_calls(op)
        for kernel in calls:
            known = alike.setdefault(_outline(kernel), [])
            first = next((other for other in known if _are_equal(kernel, other)), None)
            if first is None:
                known.append(kernel)
                continue
            for call in calls[kernel]:
                call.callee = SymbolRefAttr(first.sym_name)
            Rewriter.erase_op(kernel)


def _outline(kernel: func.FuncOp) -> Hashable:
    """What equal kernels have in common, and most others do not."""
    return kernel.function_type, tuple(op.name for op in block_ops(kernel.body.block))


def _are_equal(one: func.FuncOp, other: func.FuncOp) -> bool:
    """Whether two kernels are the same but for their names."""
    kept = [{**op.attributes, **op.properties, "sym_name": None} for op in (one, other)]
    return kept[0] == kept[1] and one.body.is_structurally_equivalent(other.body)


__all__ = ["MergeEqualKernelsPass"]
