"""`lamina.compile`: any kind of program to a `Compiled` object."""

from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.compiling import compiling
from lamina.dialects.errors import InputError
from lamina.dialects.source import verify_module
from lamina.frontends import torch_kernels as _torch_kernels  # noqa: F401 - for IR that names them
from lamina.frontends.file_formats import read_onnx_model, read_program, with_sizes
from lamina.frontends.jax_programs import is_of_jax, read_jax
from lamina.frontends.source_program import Bindings, SourceProgram
from lamina.lowering.custom_pipeline import Pipeline
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.layers import DEFAULT, parse

_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "constants": ((Mapping, NoneType), "a mapping from names to arrays"),
    "cache": ((bool, np.bool_, int), "a bool"),
    "rounding": ((str,), "a name, such as 'kernel'"),
    "schedules": ((Mapping, NoneType), "a mapping from names of kernels to texts"),
    "tune": ((Real,), "a number of seconds"),
    "pipeline": ((Pipeline, NoneType), "a lamina.Pipeline"),
    "sizes": ((Mapping, NoneType), "a mapping from names of sizes to integers"),
    "versions": ((str,), "a name, such as 'auto'"),
}
"""What arguments of `compile` may be, and how a message says so."""


def compile(  # noqa: A001 - used as lamina.compile
    program: object,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: Target | str | None = None,
    constants: Mapping[str, Any] | None = None,
    cache: bool = True,
    rounding: str = "kernel",
    schedules: Mapping[str, str] | None = None,
    tune: float = 0,
    pipeline: Pipeline | None = None,
    sizes: Mapping[str, int] | None = None,
    versions: str = "auto",
) -> Compiled:
    """Compiles a program to native code.

    `program` is textual IR (str, or bytes in UTF-8) or an xDSL ModuleOp, at any layer; the path of
    a file (`FILE_FORMATS` says which are more than textual IR); an `onnx.ModelProto`; a
    `torch.export.ExportedProgram`, a graph that make_fx has traced, or an `nn.Module` with
    `example_inputs`, which torch.export exports as it is now, in training mode or not; `jax.jit(f)`
    with `example_inputs`, or what its `lower(*arguments)` or `jax.export.export` gives, whose calls
    nest as those of `f`.
    The function `main` is what runs; other public functions are `Compiled.entries`. A module that
    is passed in stays as it is.

    `example_inputs` are the positional arguments of a torch module or a function of JAX's, of the
    shapes they are to have.

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
    `sizes` gives numbers for the sizes that an ONNX model, or `lamina.dims` of textual IR, names.
    `versions` says how sizes are compiled that `lamina.dims` or torch.export leaves open: "auto",
    code for the first sizes that come and then for all up to powers of four, whose arguments are
    padded; "exact", code for each set of sizes; "padded", no code for single sets of sizes. What is
    made stands in `Compiled.sizes`.
    `pipeline` says how the passes differ from the compiler's own, see `lamina.Pipeline`.

    Raises InputError for text or IR that is not valid, UnsupportedError for what cannot be
    compiled, ArgumentError for constants that do not fit.

        compiled = lamina.compile(Path("model.mlir"), constants={"w": weights})
        result = compiled(x)
    """
    if example_inputs is not None and not (_is_of_torch(program) or is_of_jax(program)):
        kind = type(program).__name__
        takers = "torch modules and JAX functions"
        raise InputError(f"example_inputs are for {takers}, not for a {kind}")
    _check_kinds(
        constants=constants,
        cache=cache,
        rounding=rounding,
        schedules=schedules,
        tune=tune,
        pipeline=pipeline,
        sizes=sizes,
        versions=versions,
    )
    source = _read(program, example_inputs, Bindings(constants or {}, sizes or {}))
    return compile_module(
        source.module,
        constants=source.bound(constants or {}),
        structure=source.structure,
        seeds=source.seeds,
        target=target,
        cache=cache,
        rounding=rounding,
        schedules=schedules,
        tune=tune,
        pipeline=pipeline or DEFAULT,
        versions=versions,
    )


def _check_kinds(**given: object) -> None:
    """Raises InputError for an argument of `compile` that is of another type than it takes."""
    for name, value in given.items():
        kinds, wanted = _KINDS[name]
        if not isinstance(value, kinds):
            raise InputError(f"{name}: it takes {wanted}, not a {type(value).__name__}")
        if isinstance(value, Mapping):
            keys: set[type] = {type(key) for key in value} - {str}
            for kind in keys:
                raise InputError(f"{name}: it takes {wanted}; one name is a {kind.__name__}")


def _read(
    program: object, example_inputs: Sequence[Any] | None, bindings: Bindings
) -> SourceProgram:
    if type(program).__module__.partition(".")[0] == "onnx":
        return read_onnx_model(program, bindings)
    if bindings.sizes and not isinstance(program, ModuleOp | str | bytes | Path):
        kind = type(program).__name__
        raise InputError(f"sizes are for ONNX models and textual IR, not for a {kind}")
    if isinstance(program, ModuleOp):
        verify_module(program)
        return SourceProgram(with_sizes(program.clone(), bindings))
    if isinstance(program, str | bytes):
        return SourceProgram(with_sizes(parse(program), bindings))
    if isinstance(program, Path):
        with compiling():
            return read_program(program, bindings)
    if _is_of_torch(program):
        from lamina.frontends.torch_programs import read_torch

        return read_torch(program, example_inputs)
    if is_of_jax(program):
        with compiling():
            return read_jax(program, example_inputs)
    raise InputError(
        f"cannot compile a {type(program).__name__}: pass textual IR, a path, an xDSL ModuleOp, "
        "an onnx.ModelProto, a torch module with example_inputs, or what "
        "torch.export.export(module, example_inputs) gives"
    )


def _is_of_torch(program: object) -> bool:
    """Whether a class of torch's made it, or one below; asked without importing torch."""
    kinds = type(program).__mro__
    return any(kind.__module__.partition(".")[0] == "torch" for kind in kinds)
