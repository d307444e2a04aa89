"""A whole program to `prims`: what is about more than one op, and then op by op."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.control_flow import convert_control_flow
from lamina.lowering.stablehlo_to_prims.table import LOWERINGS
from lamina.passes.functionalize.inline_calls import inline_calls
from lamina.passes.refusal import unsupported


def convert_program(module: ModuleOp) -> None:
    """Lowers a program in place. Raises UnsupportedError and InputError, by op and line."""
    inline_calls(module)
    for op in list(module.walk()):
        if op.name == "sdy.mesh":
            _erase(op)
        elif op.name == "sdy.sharding_constraint":
            Rewriter.replace_op(op, [], list(op.operands))
        elif op.name == "stablehlo.get_tuple_element" and isinstance(op, HloOp):
            _take_apart(op)
    for op in list(module.walk()):
        if op.name == "stablehlo.tuple" and not any(result.uses for result in op.results):
            _erase(op)
    _drop_uncalled(module)
    convert_control_flow(module)
    LOWERINGS.convert(module)


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
