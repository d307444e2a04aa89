"""`verify-functional`: the contract of the layer: ATen without mutation.

Sizes are known, or follow from those of arguments.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from lamina.dialects.op_list import list_ops
from lamina.dialects.records import record
from lamina.dialects.sizes import quotients
from lamina.passes.contracts.argument_sizes import has_open_sizes
from lamina.passes.contracts.contracts import refuse_mutation, refuse_open_sizes, verify_layer
from lamina.passes.contracts.stages import stages_of
from lamina.passes.contracts.symbolic_shapes import UNKNOWN, infer_shapes


@record
class VerifyFunctionalPass(ModulePass):
    """Refuse a module that does not stand at the functional layer.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-functional"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "functional", ("aten",), refuse_mutation, allow=self.allow)
        if stages_of(op):  # whose sizes are open, until they are compiled
            return
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                _refuse_unknown_sizes(function)


def _refuse_unknown_sizes(function: FuncOp) -> None:
    """Refuses `?` in results, but for sizes that follow from those of the function's arguments."""
    if not has_open_sizes(function):
        for op in list_ops(function):
            refuse_open_sizes(op)
        return
    with quotients():
        known = infer_shapes(function)
    for op in list_ops(function):
        if any(UNKNOWN in known.shape(r) for r in op.results if isinstance(r.type, TensorType)):
            refuse_open_sizes(op)
