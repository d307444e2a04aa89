"""`unroll-layers`: each step of a `control.repeat` is written out, one after the other.

This is what `roll-layers` undoes; in between, the region has become calls of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp, RepeatOp, YieldOp
from lamina.dialects.ir_links import block_ops
from lamina.passes.defined_functions import defined_functions


@dataclass(frozen=True)
class UnrollLayersPass(ModulePass):
    """Write the steps of repeats out, also within other regions."""

    name = "unroll-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for block in function.body.blocks:
                _unroll_in(block)


def _unroll_in(block: Block) -> None:
    for op in block_ops(block):
        if isinstance(op, RegionOp):
            for inner in op.blocks:
                _unroll_in(inner)
        if isinstance(op, RepeatOp):
            _unroll(op)


def _unroll(op: RepeatOp) -> None:
    body, carried = op.body_region.block, list(op.starts)
    end = body.last_op
    block = op.parent
    assert isinstance(end, YieldOp) and block is not None
    given: list[SSAValue] = []
    for own in op.own_operands:
        outside = [*carried, *own, *op.inputs]
        mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, outside, strict=True))
        for inner in block_ops(body):
            if inner is not end:
                block.insert_op_before(inner.clone(mapping), op)
        results = [mapping[value] for value in end.values]
        carried = results[: len(carried)]
        given += results[len(carried) :]
    Rewriter.replace_op(op, [], [*carried, *given])
