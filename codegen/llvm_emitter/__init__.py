"""Scheduled loops to LLVM IR text in one walk; one file per family of ops."""

from lamina.codegen.llvm_emitter.module import EmittedModule, ProgramEmitter, emit_module
from lamina.codegen.llvm_emitter.writer import EmitOptions

__all__ = ["EmitOptions", "EmittedModule", "ProgramEmitter", "emit_module"]
