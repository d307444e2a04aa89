"""`verify-loop`: the contract of the structured loop layer."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, KernelOp, ReshapeOp
from lamina.passes.refusal import invalid

BODY_DIALECTS = frozenset({"arith", "math", "loop"})


@dataclass(frozen=True)
class VerifyLoopPass(ModulePass):
    """Check that functions hold only loop ops on statically shaped tensors."""

    name = "verify-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp):
                raise invalid(function, "only functions may stand at module level")
            for block in function.body.blocks:
                for inner in block.ops:
                    _verify(inner)


def _verify(op: object) -> None:
    match op:
        case func.ReturnOp() | func.CallOp():
            return
        case GenericOp():
            for inner in op.block.ops:
                if inner.name.partition(".")[0] not in BODY_DIALECTS:
                    raise invalid(inner, "bodies hold only arith, math and loop ops")
        case ReshapeOp() | KernelOp():
            pass
        case _:
            raise invalid(op, "is not an op of the loop layer")  # pyright: ignore
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, TensorType) or any(e < 0 for e in value.type.get_shape()):
            raise invalid(op, f"{value.type} is not a tensor of static shape")
