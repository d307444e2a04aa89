"""A whole program to `prims`: what is about more than one op, and then op by op."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import Rewriter

from lamina.dialects.op_list import list_ops
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.control_flow import convert_control_flow
from lamina.lowering.stablehlo_to_prims.table import LOWERINGS
from lamina.passes.functionalize.inline_calls import inline_calls
from lamina.passes.refusal import unsupported


def convert_program(module: ModuleOp) -> None:
    """Lowers a program in place. Raises UnsupportedError and InputError, by op and line."""
    inline_calls(module)
    for op in list_ops(module):
        if op.name == "sdy.mesh":
            _erase(op)
        elif op.name == "sdy.sharding_constraint":
            Rewriter.replace_op(op, [], list(op.operands))
        elif op.name == "stablehlo.get_tuple_element" and isinstance(op, HloOp):
            _take_apart(op)
    for op in list_ops(module):
        if op.name == "stablehlo.tuple" and not any(result.uses for result in op.results):
            _erase(op)
    _drop_uncalled(module)
    convert_control_flow(module)
    _unique_constants(module)
    LOWERINGS.convert(module)


MOST_BYTES = 64
"""Of constants that are compared: longer ones are weights, which seldom stand twice."""


def _unique_constants(root: Operation) -> None:
    """Of small constants that are equal and stand in one block, the first serves for all."""
    for region in root.regions:
        for block in region.blocks:
            _unique_in_block(block)


def _unique_in_block(block: Block) -> None:
    made: dict[Attribute, Operation] = {}
    for op in list(block.ops):
        if op.regions:
            _unique_constants(op)
        if op.name != "stablehlo.constant" or op.attributes or not isinstance(op, HloOp):
            continue
        value = op.attr("value")
        if isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) <= MOST_BYTES:
            first = made.setdefault(value, op)
            if first is not op:
                op.results[0].replace_all_uses_with(first.results[0])
                _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _take_apart(op: HloOp) -> None:
    """The part of a tuple that the program makes."""
    made, place = op.operands[0].owner, op.int("index")
    if isinstance(made, HloOp) and made.name == "stablehlo.tuple":
        if not 0 <= place < len(made.operands):
            raise unsupported(op, f"a tuple of {len(made.operands)} has no part {place}")
        Rewriter.replace_op(op, [], [made.operands[place]])


def _drop_uncalled(module: ModuleOp) -> None:
    """Private functions that nobody calls any more."""
    for op in list(module.body.block.ops):
        if not isinstance(op, func.FuncOp) or op.sym_visibility is None:
            continue
        if op.sym_visibility.data == "private" and not op.attributes:
            _erase(op)
