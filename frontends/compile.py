"""`lamina.compile`: any kind of program to a `Compiled` object."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.dialects.source import verify_module
from lamina.frontends import torch_kernels as _torch_kernels  # noqa: F401 - for IR that names them
from lamina.lowering.custom_pipeline import Pipeline
from lamina.runtime.compile import compile_module, compiling
from lamina.runtime.compiled import Compiled
from lamina.runtime.layers import DEFAULT, parse


def compile(  # noqa: A001 - used as lamina.compile
    program: object,
    *,
    target: Target | str | None = None,
    constants: Mapping[str, Any] | None = None,
    cache: bool = True,
    rounding: str = "kernel",
    schedules: Mapping[str, str] | None = None,
    tune: float = 0,
    pipeline: Pipeline | None = None,
) -> Compiled:
    """Compiles a program to native code.

    `program` is textual IR (str, or bytes in UTF-8), the path of a file of it, an xDSL ModuleOp, at
    any layer, or a `torch.export.ExportedProgram`. The function `main` is what runs; other public
    functions are `Compiled.entries`. A module that is passed in stays as it is.

    `target` is a Target or a name for `Target.parse`; the machine at hand by default.
    `constants` binds arrays or tensors to arguments of kind parameter, buffer and constant by
    their `lamina.name`, so that they are prepared (packed, folded) once. Exported programs bring
    their own; in textual IR, what is not bound is passed in each call.
    `cache` keeps machine code on disk and takes it from there.
    `rounding` says where f16 and bf16 are rounded, which are computed in f32: "kernel", once where
    a value leaves a fused kernel, or "eager", after every op as torch's eager mode does.
    `schedules` gives kernels other schedules than the compiler chooses: texts such as that of
    `Compiled.kernels[i].schedule`, by the kernel's name; what a text leaves open is chosen.
    `tune` is a number of seconds in which other schedules are measured on this machine, with random
    arguments; the fastest are kept, and remembered in the cache. Progress goes to standard error.
    `pipeline` says how the passes differ from the compiler's own, see `lamina.Pipeline`.

    Raises InputError for text or IR that is not valid, UnsupportedError for what cannot be
    compiled, ArgumentError for constants that do not fit.
    """
    options = _Options(target, cache, rounding, schedules, tune, pipeline or DEFAULT)
    if isinstance(program, ModuleOp):
        verify_module(program)
        return _compile_module(program.clone(), constants, options)
    if isinstance(program, str | bytes):
        return _compile_module(parse(program), constants, options)
    if isinstance(program, Path):
        module = parse(program.read_bytes(), name=str(program))
        return _compile_module(module, constants, options)
    if type(program).__module__.partition(".")[0] == "torch":
        return _compile_torch(program, constants, options)
    raise InputError(
        f"cannot compile a {type(program).__name__}: pass textual IR, a path, an xDSL ModuleOp, "
        "or what torch.export.export(module, example_inputs) gives"
    )


@dataclass(frozen=True)
class _Options:
    """How to compile, whatever the program is."""

    target: Target | str | None
    cache: bool
    rounding: str
    schedules: Mapping[str, str] | None
    tune: float
    pipeline: Pipeline


def _compile_module(
    module: ModuleOp, constants: Mapping[str, Any] | None, options: _Options, **others: Any
) -> Compiled:
    return compile_module(
        module,
        target=options.target,
        constants=constants,
        cache=options.cache,
        rounding=options.rounding,
        schedules=options.schedules,
        tune=options.tune,
        pipeline=options.pipeline,
        **others,
    )


def _compile_torch(
    program: object, constants: Mapping[str, Any] | None, options: _Options
) -> Compiled:
    from torch.export import ExportedProgram

    from lamina.frontends.exported_program import import_exported_program
    from lamina.frontends.torch_seeds import TORCH_SEEDS

    if not isinstance(program, ExportedProgram):
        raise InputError(
            f"cannot compile a {type(program).__qualname__}: "
            "export it first with torch.export.export(module, example_inputs)"
        )
    with compiling():
        imported = import_exported_program(program)
    return _compile_module(
        imported.module,
        {**imported.constants, **(constants or {})},
        options,
        structure=imported.structure,
        seeds=TORCH_SEEDS,
    )
