"""Output targets of `lamina-opt` that go through Lamina's code generator.

Each takes a module of scheduled IR (the form `schedule` leaves) and an optional CPU:
`-t asm`, `-t asm{cpu=x86-64-v3}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from lamina.dialects.errors import InputError, LaminaError
from lamina.tools.text_target import TextTarget


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """LLVM IR as emitted, before LLVM's own optimization passes (`optimized` for after)."""

    name = "llvmir"

    cpu: str = "host"
    optimized: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the text of the LLVM module."""
        from lamina.codegen.jit import emit_llvm_ir

        check_scheduled(module, self.name)
        output.write(emit_llvm_ir(module, self.cpu, optimized=self.optimized))


@dataclass(frozen=True)
class AsmTarget(Target):
    """Assembly of the optimized module."""

    name = "asm"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the assembly text."""
        from lamina.codegen.jit import emit_assembly

        check_scheduled(module, self.name)
        output.write(emit_assembly(module, self.cpu))


@dataclass(frozen=True)
class ObjectTarget(Target):
    """A relocatable object file. The stream must be a byte-preserving (latin-1) one."""

    name = "object"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the bytes of the object file, one character each."""
        from lamina.codegen.jit import emit_object

        check_scheduled(module, self.name)
        output.write(emit_object(module, self.cpu).decode("latin-1"))


@dataclass(frozen=True)
class LedgerTarget(Target):
    """The kernels that a program becomes: ops, calls, bytes, flops, estimate, why, how."""

    name = "ledger"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Lower a copy of the module to kernels if it stands higher, and write the table.

        In front of it stands, for sizes that are open, what each op costs as formulas of them; a
        program whose nests have such sizes already is no kernels yet.
        """
        from lamina.codegen.target import Target as Machine
        from lamina.passes.contracts.argument_sizes import has_open_program
        from lamina.passes.schedule.schedule_texts import schedule_texts
        from lamina.runtime.kernels import kernels_of
        from lamina.runtime.layers import layer_of, lower

        machine = Machine.parse(self.cpu)
        lowered = module.clone()
        layer = layer_of(lowered)
        if has_open_program(module):
            from lamina.runtime.open_ledger import open_ledger

            output.write(f"{open_ledger(module, machine)}\n")
        if layer not in ("fused", "bufferized", "scheduled"):
            try:
                lower(lowered, layer, "fused", machine)
            except LaminaError as error:
                if not has_open_program(module):
                    raise
                output.write(f"no kernels: {str(error).splitlines()[0]}\n")
                return
        kernels = kernels_of(lowered, machine)
        if layer != "scheduled":
            lower(lowered, layer_of(lowered), "bufferized", machine)
            kernels = kernels.on_buffers(lowered, machine)
            kernels = kernels.with_schedules(schedule_texts(lowered))
        output.write(f"{kernels}\n{kernels.explain()}\n{kernels.schedules()}\n")


@dataclass(frozen=True)
class LinalgTarget(Target):
    """Text of MLIR's own `linalg`, `tensor`, `arith`, `math` and `func`, for any MLIR tool."""

    name = "mlir-linalg"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Lower a copy of the module to `loop` if it stands higher, convert it, and write it."""
        from lamina.codegen.target import Target as Machine
        from lamina.lowering.loop_to_linalg.programs import convert
        from lamina.lowering.upstream_text import verify_pure
        from lamina.runtime.layers import layer_of, lower

        lowered = module.clone()
        layer = layer_of(lowered)
        if layer in ("bufferized", "scheduled"):
            raise InputError(
                f"-t {self.name}: error: the program is on buffers by now; -t mlir-llvm is for it"
            )
        if layer not in ("loop", "fused"):
            lower(lowered, layer, "loop", Machine.host())
        convert(lowered)
        verify_pure(lowered)
        lowered.verify()
        TextTarget().emit(ctx, lowered, output)


@dataclass(frozen=True)
class MlirTarget(Target):
    """Text of MLIR's own `scf`, `memref`, `vector`, `arith`, `math` and `func`."""

    name = "mlir-llvm"

    cpu: str = "host"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Lower a copy of the module to `scheduled` if it stands higher, convert and write it."""
        from lamina.codegen.target import Target as Machine
        from lamina.lowering.scheduled_to_mlir.table import convert
        from lamina.lowering.upstream_text import verify_pure
        from lamina.runtime.layers import layer_of, lower

        lowered = module.clone()
        layer = layer_of(lowered)
        if layer != "scheduled":
            lower(lowered, layer, "scheduled", Machine.parse(self.cpu))
        convert(lowered)
        verify_pure(lowered)
        TextTarget().emit(ctx, lowered, output)


def check_scheduled(module: ModuleOp, target: str) -> None:
    """`InputError` for a module without an entry point of scheduled IR."""
    if not any("lamina.entry" in function.attributes for function in module.ops):
        raise InputError(
            f"-t {target}: error: code is made from scheduled IR, and no function here has the "
            "attribute lamina.entry\n  --to scheduled runs the passes that lead there"
        )


TARGETS: tuple[type[Target], ...] = (
    TextTarget,
    LLVMIRTarget,
    AsmTarget,
    ObjectTarget,
    LedgerTarget,
    LinalgTarget,
    MlirTarget,
)
"""What `-t NAME{option=value}` offers on top of xDSL's targets, or in place of them."""


def target_factories() -> dict[str, Callable[[], type[Target]]]:
    """Factories without parameters, by which xDSL tells targets from plain functions."""

    def factory(target: type[Target]) -> Callable[[], type[Target]]:
        return lambda: target

    return {target.name: factory(target) for target in TARGETS}
