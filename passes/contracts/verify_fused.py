"""`verify-fused`: the contract of outlined kernels on tensors, which `bufferize` takes.

What `verify-loop` asks for, and: nests stand in kernels, which are private functions that only
`main` and `setup` call, and the nests of each kernel can share it as they are noted.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp, KernelOp, ReshapeOp
from lamina.passes.contracts.verify_loop import VerifyLoopPass
from lamina.passes.fusion.outline_kernels import (
    KERNEL,
    verify_kernel_function,
    verify_results,
)
from lamina.passes.refusal import invalid

NESTS = (GenericOp, *UNSTRUCTURED_OPS)
"""What computes: it stands in kernels only."""


class VerifyFusedPass(ModulePass):
    """Check that nests stand in kernels, that kernels can be run, and that only they are called."""

    name = "verify-fused"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        VerifyLoopPass().apply(ctx, op)
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = {f.sym_name.data for f in functions if KERNEL in f.attributes}
        for function in functions:
            if KERNEL in function.attributes:
                _verify_kernel(function)
            else:
                _verify_calls(function, kernels)
                verify_results(function)


def _verify_kernel(function: func.FuncOp) -> None:
    if function.sym_visibility is None or function.sym_visibility.data != "private":
        raise invalid(function, f"@{function.sym_name.data} is a kernel, and so private")
    for op in function.body.block.ops:
        if isinstance(op, ReshapeOp):
            raise invalid(op, "stands in a kernel; entries reshape what kernels take and give")
        if not isinstance(op, (*NESTS, func.ReturnOp)):
            raise invalid(op, "is no nest or return of a kernel")
    verify_kernel_function(function)


def _verify_calls(function: func.FuncOp, kernels: set[str]) -> None:
    for op in function.body.walk():
        if isinstance(op, (*NESTS, KernelOp)):
            raise invalid(op, f"stands in @{function.sym_name.data}; outline-kernels moves it")
        if isinstance(op, func.CallOp) and op.callee.root_reference.data not in kernels:
            raise invalid(op, f"calls @{op.callee.root_reference.data}, which is no kernel")
