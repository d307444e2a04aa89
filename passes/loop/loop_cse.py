"""`loop-cse`: nests and reshapes that compute the same from the same are computed once."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, ReshapeOp
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.outline_kernels import structure


class LoopCsePass(ModulePass):
    """Merge structurally equal tensor-level loop ops with equal operands."""

    name = "loop-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            merge_equal(function)


def merge_equal(function: func.FuncOp) -> None:
    """Keep the first of ops that compute the same from the same."""
    merge_equal_in(function.body.block)


def merge_equal_in(block: Block) -> None:
    """The same of the ops of a block, and of regions that stand in it, each for itself."""
    # Few read the same: only of these it is asked what they compute.
    readers: dict[Hashable, list[Operation]] = {}
    key = cache(_key)
    for op in list(block.ops):
        if op.regions and isinstance(op, RegionOp):
            for inner in op.blocks:
                merge_equal_in(inner)
        if not isinstance(op, (GenericOp, ReshapeOp, *UNSTRUCTURED_OPS)) or not op.results:
            continue
        others = readers.setdefault((op.name, *op.operands), [])
        first = next((other for other in others if key(other) == key(op)), None)
        if first is None:
            others.append(op)
        else:
            Rewriter.replace_op(op, [], list(first.results))


def _key(op: Operation) -> Hashable:
    """What an op does with its operands."""
    return (
        tuple(r.type for r in op.results),
        tuple(sorted(op.properties.items())),
        structure(op),
    )
