"""`share-kernels`: which kernels the threads of a team run together, noted on each.

A kernel is shared if threads save more of it than a barrier takes, and if all that it does outside
of its parallel loops may be left to one thread. Its serial steps go to that thread (`loop.single`),
with barriers where order matters. `lamina.shared` says so. Whether a team calls it is a
matter of the program (`merge-parallel-regions`), on which the code of the kernel does not depend.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, UnitAttr

from lamina.codegen.target import Target
from lamina.dialects.loop.team import SHARED
from lamina.passes.cost.team_cost import NANOSECONDS, sharing_pays
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.parallel.team_steps import share_out


@dataclass(frozen=True)
class ShareKernelsPass(KernelPass):
    """Note the kernels that a team shares. What a barrier costs is `target`'s (a name that
    `Target.parse` knows); kernels whose time nobody noted are shared where they can be."""

    name = "share-kernels"

    target: str = "host"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        if SHARED in kernel.attributes:
            return
        estimate = kernel.attributes.get(NANOSECONDS)
        pays = not isinstance(estimate, IntegerAttr) or sharing_pays(
            estimate.value.data, Target.parse(self.target)
        )
        if kernel.body.blocks and pays and share_out(kernel.body.block):
            kernel.attributes[SHARED] = UnitAttr()
