"""`outline-regions`: each region of a control op becomes a private function, which it calls.

What a region holds is then the body of a function like any other, and every pass over loop nests
works on it; the control op itself is a fence between what stands before it and after it.
`inline-regions` puts the bodies back once their kernels are formed. In functions whose sizes are
open regions stay, as what is known of their arguments' sizes is known of operands; no kernels are
formed of these.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp, YieldOp
from lamina.dialects.op_list import instances_under
from lamina.passes.contracts.argument_sizes import has_open_sizes

REGION = "lamina.region"
"""Attribute of a function that is a region of a control op."""


class OutlineRegionsPass(ModulePass):
    """Move the regions of control ops into private functions."""

    name = "outline-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        taken = {function.sym_name.data for function in functions}
        for function in functions:
            if function.body.blocks and has_open_sizes(function):
                continue
            # Inner ops first, so that a function that is made is done with.
            found = instances_under(function, RegionOp)
            for control in reversed(found):
                if all(map(_is_outlined, control.blocks)):
                    continue
                for word, region in zip(control.REGIONS, control.regions, strict=True):
                    name = f"{control.name.partition('.')[2]}{count}_{word}"
                    while name in taken:
                        count += 1
                        name = f"{control.name.partition('.')[2]}{count}_{word}"
                    op.body.block.add_op(_outlined(control, region, name))
                count += 1


def _is_outlined(block: Block) -> bool:
    """Whether all that a region does is to call its own function."""
    call, end = block.first_op, block.last_op
    if not isinstance(call, func.CallOp) or call.next_op is not end or end is None:
        return False
    return list(call.operands) == list(block.args) and list(end.operands) == list(call.results)


def _outlined(control: RegionOp, region: Region, name: str) -> func.FuncOp:
    """The region's body as a function; the region is left with a call of it."""
    body = region.block
    end = body.last_op
    assert isinstance(end, YieldOp)
    types = [value.type for value in end.values]
    block = Block(arg_types=body.arg_types)
    for old, new in zip(body.args, block.args, strict=True):
        new.name_hint = old.name_hint
    call = func.CallOp(SymbolRefAttr(name), list(block.args), types)
    call.location = control.location
    block.add_ops([call, YieldOp(call.res)])
    Rewriter.replace_op(end, func.ReturnOp(*end.values))
    region.detach_block(body)
    region.add_block(block)
    kind = FunctionType.from_lists(body.arg_types, types)
    function = func.FuncOp(name, kind, Region(body), visibility="private")
    function.attributes[REGION] = UnitAttr()
    function.location = control.location
    return function
