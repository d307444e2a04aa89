"""`verify-core-aten`: the contract of the layer: only core ATen, nothing mutates."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.records import record
from lamina.passes.contracts.contracts import refuse_mutation, verify_layer


@record
class VerifyCoreAtenPass(ModulePass):
    """Refuse a module that does not stand at the core-aten layer.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-core-aten"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "core-aten", ("core_aten",), refuse_mutation, allow=self.allow)
