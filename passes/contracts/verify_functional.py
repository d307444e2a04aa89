"""`verify-functional`: the contract of the layer: ATen without mutation, on known sizes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.passes.contracts.contracts import refuse_mutation, refuse_open_sizes, verify_layer
from lamina.passes.contracts.stages import stages_of


@dataclass(frozen=True)
class VerifyFunctionalPass(ModulePass):
    """Refuse a module that does not stand at the functional layer.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-functional"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check = refuse_mutation if stages_of(op) else _check  # sizes of stages are open
        verify_layer(op, "functional", ("aten",), check, allow=self.allow)


def _check(op: Operation) -> None:
    refuse_mutation(op)
    refuse_open_sizes(op)
