"""`inline-regions`: the functions that `outline-regions` made go back into their control ops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.ir_links import block_ops
from lamina.passes.regions.outline_regions import REGION


class InlineRegionsPass(ModulePass):
    """Put the bodies of region functions in place of their calls, and remove the functions."""

    name = "inline-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_regions(op)


def inline_regions(module: ModuleOp) -> None:
    """Put what `outline-regions` moved out of regions back, in place."""
    functions = [f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)]
    bodies = {f.sym_name.data: f for f in functions if REGION in f.attributes}
    if not bodies:
        return
    for function in functions:
        if function.sym_name.data not in bodies:
            for block in function.body.blocks:
                _inline(block, bodies)
    for function in bodies.values():
        function.detach()
        function.erase()


def _inline(block: Block, bodies: dict[str, func.FuncOp]) -> None:
    for op in block_ops(block):
        if isinstance(op, RegionOp):
            for inner in op.blocks:
                _inline(inner, bodies)
        elif isinstance(op, func.CallOp):
            body = bodies.get(op.callee.root_reference.data)
            if body is not None:
                _inline(body.body.block, bodies)
                _replace_call(op, body)


def _replace_call(call: func.CallOp, function: func.FuncOp) -> None:
    """A copy of the function's body in front of the call, whose results are what it returns."""
    mapping: dict[SSAValue, SSAValue] = dict(
        zip(function.body.block.args, call.arguments, strict=True)
    )
    results: list[SSAValue] = []
    block = call.parent
    assert block is not None
    for inner in function.body.block.ops:
        if isinstance(inner, func.ReturnOp):
            results = [mapping.get(value, value) for value in inner.operands]
        else:
            block.insert_op_before(inner.clone(mapping), call)
    Rewriter.replace_op(call, [], results)
