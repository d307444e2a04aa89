"""Passes by what they look at below the tensor layers: one kernel at a time, or what calls them.

Passes of one kernel that stand side by side in a pipeline may be applied to one kernel after the
other, as nested passes of MLIR on functions are, so that what follows has the first kernel early.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp


class KernelPass(ModulePass, ABC):
    """Changes each kernel function, whatever else is in the module."""

    @abstractmethod
    def apply_to_kernel(self, kernel: FuncOp) -> None:
        """Changes one kernel function in place."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels_in(op):
            self.apply_to_kernel(kernel)


class EntryPass(ModulePass, ABC):
    """Changes entries, by what is noted of the kernels that they call, and few of the kernels."""

    def keeps(self, kernel: FuncOp) -> bool:
        """Whether the code of a kernel is the same behind the pass; notes of it may be others."""
        return True


def kernels_in(module: ModuleOp) -> list[FuncOp]:
    """The kernel functions of a module, in order."""
    from lamina.passes.fusion.outline_kernels import kernel_functions  # tools start without

    return kernel_functions(module)
