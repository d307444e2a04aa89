"""Passes that run on each program of a module, a program that others call as well."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

from lamina.lowering.pass_runner import PassRunner
from lamina.lowering.pipeline import CONTRACT_PASSES


class ProgramPasses(PassPipeline):
    """xDSL's pipeline, with each pass on one program after the other."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Runs the passes; the callback sees the whole module between two of them."""
        observe = self.callback or (lambda ran, module, coming: None)
        ran: ModulePass | None = None
        runner = PassRunner(CONTRACT_PASSES)
        for coming in self.passes:
            observe(ran, op, coming)
            runner.apply(coming, ctx, op)
            ran = coming
        observe(ran, op, None)
