"""What passes that fuse by a model of costs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.records import record
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_decisions import DecisionLog


@record
class FusionPassBase(ModulePass, ABC):
    """A pass that weighs costs for `target` (see `lamina.passes.cost`), in each function.

    `print_decisions` tells of each pair on stderr what was decided and why.
    """

    target: str = "host"
    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Roofline.of(Target.parse(self.target))
        log = DecisionLog(self.name, self.print_decisions)
        for function in defined_functions(op):
            self.fuse(function, machine, log)

    @abstractmethod
    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        """Fuse what stands in a function with a body, in place."""
