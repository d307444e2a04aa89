"""Scheduled loops to machine code: LLVM IR text, vector math, object code, loading.

Nothing here knows what a tensor program is; the input is the scheduled level of `loop`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.codegen.jit import emit_assembly, emit_llvm_ir, emit_object

__all__ = ["emit_assembly", "emit_llvm_ir", "emit_object"]


def __getattr__(name: str) -> Any:
    """The three emitters, imported when first asked for: LLVM takes 0.1 s to load."""
    if name in __all__:
        from lamina.codegen import jit

        return getattr(jit, name)
    raise AttributeError(name)
