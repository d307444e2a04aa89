"""`verify-aten`: the contract of the layer: any ATen overload may stand here."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.records import record
from lamina.passes.contracts.contracts import verify_layer


@record
class VerifyAtenPass(ModulePass):
    """Refuse a module that does not stand at the aten layer.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-aten"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "aten", ("aten",), allow=self.allow)
