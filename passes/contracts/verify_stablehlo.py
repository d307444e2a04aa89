"""`verify-stablehlo`: a program of StableHLO and CHLO, on tensors whose sizes are known."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, TupleType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from lamina.dialects.records import record
from lamina.dialects.stablehlo.source_ops import DIALECTS
from lamina.passes.contracts.contracts import verify_layer
from lamina.passes.refusal import unsupported


@record
class VerifyStableHLOPass(ModulePass):
    """Refuse a module that does not stand at the layer `stablehlo`.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-stablehlo"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "stablehlo", DIALECTS, _check, allow=self.allow)


def _check(op: Operation) -> None:
    for result in op.results:
        kind = result.type
        if isinstance(kind, TensorType):
            if DYNAMIC_INDEX in kind.get_shape():
                raise unsupported(op, f"gives {kind}: sizes must be known", "static shapes")
        elif not isinstance(kind, TupleType):
            raise unsupported(op, f"gives {kind}, which is no tensor", "tensors")
