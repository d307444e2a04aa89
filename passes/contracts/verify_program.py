"""What is checked of every program that comes in, at whatever layer, and behind each pass.

Ops verify themselves; here stands what takes more than one op: values are defined before they are
used, bodies see their arguments only, and the nests of a kernel agree on its rows.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.source import verify_module
from lamina.passes.contracts.dominance import verify_dominance
from lamina.passes.fusion.outline_kernels import KERNEL, verify_kernel_function


def verify_program(module: ModuleOp) -> None:
    """Raises InputError, with place and reason, for a program that is not well formed."""
    verify_module(module)
    verify_between_ops(module)


def verify_between_ops(module: ModuleOp) -> None:
    """`verify_program`, without the ops' own verifiers."""
    verify_dominance(module)
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
            verify_kernel_function(function)
