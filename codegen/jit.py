"""LLVM IR text to optimised code: text, assembly, an object file, code loaded into the process."""

import ctypes
import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from llvmlite import binding
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.archive import members
from lamina.codegen.llvm_emitter import EmitOptions, EmittedModule, emit_module
from lamina.codegen.llvm_emitter.symbols import LIBC_SYMBOLS
from lamina.codegen.object_file import ObjectFormatError, undefined_symbols
from lamina.codegen.openmp import openmp_symbols
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError, LaminaError
from lamina.dialects.forks import held_while_forking
from lamina.dialects.records import record

#: Part of the cache key: raise it whenever the text or the pass pipeline changes meaning.
CODEGEN_VERSION = 9

_lock = threading.Lock()
# A process does not fork while LLVM works: the child would find LLVM's own locks taken for ever.
# Nor while llvmlite has its lock, which it takes to free an object, too; that one is taken last.
held_while_forking(_lock)
held_while_forking(binding.ffi.lib._lock._lock)  # pyright: ignore[reportAttributeAccessIssue]
_names = itertools.count()


class CodegenError(LaminaError):
    """LLVM refused what codegen wrote: a defect of Lamina, not of the program."""


def default_options() -> EmitOptions:
    """Parallel regions where this process has an OpenMP runtime."""
    return EmitOptions(openmp=openmp_symbols() is not None)


@cache
def _initialize_native() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


@cache
def _initialize_all() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


@cache
def target_machine(target: Target, level: int = 3) -> binding.TargetMachine:
    """`new_target_machine`, made once."""
    return new_target_machine(target, level)


def new_target_machine(target: Target, level: int = 3) -> binding.TargetMachine:
    """LLVM's view of a target; position-independent code, selected with effort `level`.

    Raises CodegenError for a machine that LLVM has no code generator for, and UnsupportedError for
    a CPU that it makes no code for.
    """
    if target.runs_here():
        _initialize_native()
    else:
        _initialize_all()
    try:
        llvm_target = binding.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise CodegenError(f"LLVM has no code generator for {target.triple}: {error}") from None
    if not target.is_known:
        from lamina.codegen.target_trial import refuse_unfit  # most targets need none

        refuse_unfit(target.triple, target.cpu, target.features, target.vector_bits)
    return llvm_target.create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="default"
    )


def optimise(
    text: str,
    target: Target,
    machine: binding.TargetMachine | None = None,
    context: binding.ContextRef | None = None,
) -> binding.ModuleRef:
    """Parses and verifies LLVM IR text, and inlines the vector functions.

    For threads that work at once, each has a machine and a context.

    Loops come scheduled, vectorised and without invariant code: LLVM's pipelines find nothing
    more there, at a third of the compile time (`bench.llvm_pipelines`).
    """
    machine = machine or target_machine(target)
    module = _parsed(text, machine, context)
    options = binding.create_pipeline_tuning_options(speed_level=0)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    return module


def _parsed(
    text: str, machine: binding.TargetMachine, context: binding.ContextRef | None = None
) -> binding.ModuleRef:
    try:
        module = binding.parse_assembly(text, context)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM does not take the code made for it: {error}") from None
    module.data_layout = str(machine.target_data)
    return module


def emit_llvm_ir(
    module: ModuleOp,
    target: Target | str,
    options: EmitOptions | None = None,
    *,
    optimized: bool = False,
) -> str:
    """LLVM IR of a scheduled module, as made or after LLVM's passes."""
    target, text = _emitted(module, target, options)
    if not optimized:
        return text
    with _lock:
        return str(optimise(text, target))


def emit_assembly(
    module: ModuleOp, target: Target | str, options: EmitOptions | None = None
) -> str:
    """Optimised assembly of a scheduled module."""
    target, text = _emitted(module, target, options)
    return compile_assembly(text, target)


def emit_object(
    module: ModuleOp, target: Target | str, options: EmitOptions | None = None
) -> bytes:
    """A relocatable object file (ELF) of a scheduled module."""
    target, text = _emitted(module, target, replace(options or default_options(), alone=True))
    return compile_object(text, target)


def _emitted(
    module: ModuleOp, target: Target | str, options: EmitOptions | None
) -> tuple[Target, str]:
    if isinstance(target, str):
        target = Target.parse(target)
    return target, emit_module(module, target, options or default_options()).text


def compile_assembly(text: str, target: Target) -> str:
    """Assembly of LLVM IR text."""
    with _lock:
        return target_machine(target).emit_assembly(optimise(text, target))


def compile_object(text: str, target: Target, level: int | None = None) -> bytes:
    """Object file of LLVM IR text: optimised, or translated as it is with effort `level`."""
    with _lock:
        if level is not None:
            machine = target_machine(target, level)
            return machine.emit_object(_parsed(text, machine))
        return target_machine(target).emit_object(optimise(text, target))


class _Engines:
    """The JIT engines of this process.

    LLVM keeps some 9 KB of each library that an engine has ever linked, for as long as the engine
    lives. After `LIBRARIES` libraries the next engine begins; one goes with the last of its own.

    JITLink takes one piece of memory for all sections of an object file. RuntimeDyld, which is
    LLVM's default, takes one for each: in a process with little room left between what is mapped
    they may be more than 2 GB apart, further than code can refer to, and LLVM ends the process.
    """

    LIBRARIES = 64

    def __init__(self) -> None:
        self._linked = 0

    def next(self) -> binding.LLJIT:
        """The engine that links the next library."""
        if self._linked % self.LIBRARIES == 0:
            machine = target_machine(Target.host())
            self._engine = binding.create_lljit_compiler(
                machine, suppress_errors=True, use_jit_link=True
            )
        self._linked += 1
        return self._engine


_engines = _Engines()


@record
class LoadedObject:
    """Machine code in this process; `addresses` stay valid as long as this object lives."""

    addresses: dict[str, int]
    _tracker: Any
    _engine: Any


def load_object(
    code: bytes,
    symbols: Sequence[str],
    target: Target,
    needs_openmp: bool,
    provided: Mapping[str, int] | None = None,
) -> LoadedObject:
    """Loads an object file, or an archive of them; gives the addresses of `symbols`.

    It may call the functions `provided`, by their addresses, beside OpenMP's and a few of C's.

    ExecutionError if the code is for another CPU, needs an OpenMP runtime that is not there, or
    calls a function that nobody defines.
    """
    if not target.runs_here():
        raise ExecutionError(f"code for {target.name} ({target.cpu}) cannot run on this CPU")
    library = binding.JITLibraryBuilder()
    for part in members(code):
        library.add_object_img(part)
    for name, where in _resolve(code, needs_openmp, provided or {}).items():
        library.import_symbol(name, where)
    for name in symbols:
        library.export_symbol(name)
    with _lock:
        try:
            engine = _engines.next()
            tracker = library.link(engine, f"lamina{next(_names)}")
        except RuntimeError as error:
            raise ExecutionError(f"the code cannot be loaded: {error}") from None
    return LoadedObject({name: tracker[name] for name in symbols}, tracker, engine)


def _resolve(code: bytes, needs_openmp: bool, provided: Mapping[str, int]) -> dict[str, int]:
    """Addresses of all that the object files call outside themselves."""
    runtime = openmp_symbols() if needs_openmp else {}
    if runtime is None:
        raise ExecutionError("the code calls OpenMP and this process has no OpenMP runtime")
    try:
        wanted = undefined_symbols(code)
    except ObjectFormatError as error:
        raise ExecutionError(f"the code cannot be loaded: {error}") from None
    known = {**_libc(), **runtime, **provided}
    # The linker makes this one itself.
    missing = [n for n in wanted if n not in known and n != "_GLOBAL_OFFSET_TABLE_"]
    if missing:
        raise ExecutionError(f"the code cannot be loaded: nobody defines {', '.join(missing)}")
    return {name: known[name] for name in wanted if name in known}


@cache
def _libc() -> dict[str, int]:
    """The C library's functions that machine code may call."""
    found: dict[str, int] = {}
    for library in (None, "libm.so.6"):
        handle = ctypes.CDLL(library)
        for name in LIBC_SYMBOLS:
            function = getattr(handle, name, None)
            if name not in found and function is not None:
                found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return found


__all__ = [
    "CODEGEN_VERSION",
    "CodegenError",
    "EmitOptions",
    "EmittedModule",
    "LoadedObject",
    "compile_assembly",
    "compile_object",
    "default_options",
    "emit_assembly",
    "emit_llvm_ir",
    "emit_object",
    "load_object",
    "optimise",
    "target_machine",
]
