"""Lamina: a multi-dialect ML compiler; the public API.

    import lamina
    compiled = lamina.compile(program)      # textual IR, an xDSL ModuleOp, a torch ExportedProgram
    result = compiled(*arguments)           # NumPy arrays or torch tensors; gives back the same
    print(compiled.kernels, compiled.ir("loop"))

The parts can be used alone, and every pass is a plain xDSL `ModulePass`:

- `compile` makes a `Compiled` of a program; `load` reads one that `Compiled.save` wrote.
- `compile_count` says how many programs were compiled so far.
- `Compiled` has its `Kernel`s, `Slot`s that say what it takes and gives, and a `NativeEntry` for
  callers in C. `Target` is the CPU that it is for, `manual_seed` begins its random numbers.
- `parse` reads textual IR with the dialects of a `Context`, `import_exported_program` a program of
  torch. `LAYERS` are the names of the layers, from `aten` to `scheduled`, `pipeline` lists the
  passes between two, and a `Pipeline` is these passes with changes.
- `extend` makes an `Extension`, which adds to the compiler; `extern_kernel` and `native_kernel`
  (with `NativeCode`) put functions of Python and C behind names that programs call.
- `lowerings` gives the `Conversion` from a layer to the next, whose lowerings are rewrite patterns
  too. Lowerings make ops through a `Builder`: `CoreBuilder`, `PrimsBuilder`, or `LoopBuilder`,
  with a `Body` for the scalars of a nest.
- What is wrong with a program or a call is a `LaminaError`: `InputError`, `UnsupportedError`,
  `ArgumentError`, `ExecutionError`, `OutOfMemoryError`, `CacheError`.
"""

from typing import TYPE_CHECKING, Any

from lamina.dialects import modifications as _modifications

_modifications.begin()

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lamina.codegen.target import Target
    from lamina.dialects.context import Context
    from lamina.dialects.errors import (
        ArgumentError,
        CacheError,
        ExecutionError,
        InputError,
        LaminaError,
        OutOfMemoryError,
        UnsupportedError,
    )
    from lamina.frontends.compile import compile  # noqa: A004 - used as lamina.compile
    from lamina.frontends.exported_program import import_exported_program
    from lamina.frontends.load import load
    from lamina.lowering.aten_to_core_aten.table import CoreBuilder
    from lamina.lowering.conversion import Builder, Conversion
    from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
    from lamina.lowering.custom_pipeline import Pipeline
    from lamina.lowering.lowerings import lowerings
    from lamina.lowering.prims_to_loop.table import Body, LoopBuilder
    from lamina.runtime.compile_count import compile_count
    from lamina.runtime.compiled import Compiled
    from lamina.runtime.entry import Slot
    from lamina.runtime.extension import Extension, extend
    from lamina.runtime.extern_kernels.registry import NativeCode, extern_kernel, native_kernel
    from lamina.runtime.kernels import Kernel
    from lamina.runtime.layers import LAYERS, parse, pipeline
    from lamina.runtime.native_entry import NativeEntry
    from lamina.runtime.random_state import manual_seed

_EXPORTS: dict[str, str] = {
    "ArgumentError": "lamina.dialects.errors",
    "Body": "lamina.lowering.prims_to_loop.table",
    "Builder": "lamina.lowering.conversion",
    "CacheError": "lamina.dialects.errors",
    "Compiled": "lamina.runtime.compiled",
    "Context": "lamina.dialects.context",
    "Conversion": "lamina.lowering.conversion",
    "CoreBuilder": "lamina.lowering.aten_to_core_aten.table",
    "ExecutionError": "lamina.dialects.errors",
    "Extension": "lamina.runtime.extension",
    "InputError": "lamina.dialects.errors",
    "Kernel": "lamina.runtime.kernels",
    "LAYERS": "lamina.runtime.layers",
    "LaminaError": "lamina.dialects.errors",
    "LoopBuilder": "lamina.lowering.prims_to_loop.table",
    "NativeCode": "lamina.runtime.extern_kernels.registry",
    "NativeEntry": "lamina.runtime.native_entry",
    "OutOfMemoryError": "lamina.dialects.errors",
    "Pipeline": "lamina.lowering.custom_pipeline",
    "PrimsBuilder": "lamina.lowering.core_aten_to_prims.table",
    "Slot": "lamina.runtime.entry",
    "Target": "lamina.codegen.target",
    "UnsupportedError": "lamina.dialects.errors",
    "compile": "lamina.frontends.compile",
    "compile_count": "lamina.runtime.compile_count",
    "extend": "lamina.runtime.extension",
    "extern_kernel": "lamina.runtime.extern_kernels.registry",
    "import_exported_program": "lamina.frontends.exported_program",
    "load": "lamina.frontends.load",
    "lowerings": "lamina.lowering.lowerings",
    "manual_seed": "lamina.runtime.random_state",
    "native_kernel": "lamina.runtime.extern_kernels.registry",
    "parse": "lamina.runtime.layers",
    "pipeline": "lamina.runtime.layers",
}
"""Public name to the module that defines it; each is imported when first used."""

__all__ = [
    "LAYERS",
    "ArgumentError",
    "Body",
    "Builder",
    "CacheError",
    "Compiled",
    "Context",
    "Conversion",
    "CoreBuilder",
    "ExecutionError",
    "Extension",
    "InputError",
    "Kernel",
    "LaminaError",
    "LoopBuilder",
    "NativeCode",
    "NativeEntry",
    "OutOfMemoryError",
    "Pipeline",
    "PrimsBuilder",
    "Slot",
    "Target",
    "UnsupportedError",
    "compile",
    "compile_count",
    "extend",
    "extern_kernel",
    "import_exported_program",
    "load",
    "lowerings",
    "manual_seed",
    "native_kernel",
    "parse",
    "pipeline",
]


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'lamina' has no attribute '{name}'")
    from importlib import import_module

    from lamina.dialects.compiling import collector_paused

    with collector_paused():
        value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
