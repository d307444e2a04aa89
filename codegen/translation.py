"""LLVM at work beside the rest of the compiler: modules of a program, each as soon as it is there.

LLVM takes a fifth to a third of the time of compiling and does not hold Python's lock, so that its
modules are translated while the next ones are written, several at once. llvmlite lets one thread
into LLVM at a time; the call that nearly all time goes to is made without its lock, which is safe
for modules of different contexts with a target machine each.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from llvmlite import binding

from lamina.codegen.archive import archived
from lamina.codegen.jit import CodegenError, new_target_machine, optimise
from lamina.codegen.target import Target
from lamina.dialects.switching import eager_switching


class Translation:
    """Modules of a program that become object code on threads of their own.

        with Translation(target) as translation:
            ProgramEmitter(target, hand_over=translation.add).finish(module)
            code = translation.code()

    No fork is to come between, as in `compiling`: a child has none of these threads.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._pool = ThreadPoolExecutor(Target.host().cores, "lamina-llvm")
        self._objects: list[Future[bytes]] = []
        self._switching = eager_switching()

    def __enter__(self) -> Translation:
        self._switching.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._switching.__exit__(kind, error, trace)

    def add(self, text: str) -> None:
        """Translates LLVM IR text, beside what follows."""
        self._objects.append(self._pool.submit(_translated, text, self._target))

    def code(self) -> bytes:
        """The object file of the module, or an archive of those of several, once all are there.

        Raises CodegenError if LLVM refuses one.
        """
        return archived([made.result() for made in self._objects])


def _translated(text: str, target: Target) -> bytes:
    machine = new_target_machine(target)
    module = optimise(text, target, machine, binding.create_context())
    with binding.ffi.OutputString() as error:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise CodegenError(f"LLVM does not translate the code made for it: {error}")
    library = binding.ffi.lib
    try:
        start, size = library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


def _unlocked(name: str) -> Any:
    """A function of llvmlite's library without its lock, if this llvmlite lets us have it."""
    locked = getattr(binding.ffi.lib, name)
    return getattr(locked, "_cfn", locked)
