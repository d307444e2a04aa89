"""`verify-functional`: the contract of the layer: ATen without mutation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.passes.contracts import refuse_mutation, verify_layer


@dataclass(frozen=True)
class VerifyFunctionalPass(ModulePass):
    """Refuse a module that does not stand at the functional layer."""

    name = "verify-functional"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "functional", ("aten", "prims"), refuse_mutation)
