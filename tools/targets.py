"""Output targets of `lamina-opt` that go through Lamina's code generator.

Each takes a module of scheduled IR (the form `schedule` leaves) and an optional CPU:
`-t asm`, `-t asm{cpu=x86-64-v3}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """LLVM IR as emitted, before LLVM's own optimization passes (`optimized` for after)."""

    name = "llvmir"

    cpu: str = "host"
    optimized: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the text of the LLVM module."""
        from lamina.codegen import emit_llvm_ir

        output.write(emit_llvm_ir(module, self.cpu, optimized=self.optimized))


@dataclass(frozen=True)
class AsmTarget(Target):
    """Assembly of the optimized module."""

    name = "asm"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the assembly text."""
        from lamina.codegen import emit_assembly

        output.write(emit_assembly(module, self.cpu))


@dataclass(frozen=True)
class ObjectTarget(Target):
    """A relocatable object file. The stream must be a byte-preserving (latin-1) one."""

    name = "object"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the bytes of the object file, one character each."""
        from lamina.codegen import emit_object

        output.write(emit_object(module, self.cpu).decode("latin-1"))


TARGETS: dict[str, type[Target]] = {
    target.name: target for target in (LLVMIRTarget, AsmTarget, ObjectTarget)
}
"""Target name to class, as `-t NAME{option=value}` spells it."""
