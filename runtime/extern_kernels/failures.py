"""What extern kernels said when they failed, kept until the program that called them has ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from lamina.dialects.errors import ExecutionError
from lamina.dialects.extension_entries import place_in
from lamina.runtime.extern_kernels.registry import ExternKernel

FAILED = "extern kernel failed:"
"""How the message of a failure goes on behind the place of the call; the kernel's name follows."""

_failures = threading.local()


class KernelCall(Protocol):
    """A call of a kernel: `binding.Call`."""

    @property
    def kernel(self) -> ExternKernel: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


def record(call: KernelCall, error: BaseException) -> None:
    """Keeps the error of a call for `explained` on this thread.

    Its frames are let go: they hold arrays over memory that is the program's.
    """
    said = _said(call, error) if isinstance(error, Exception) else ""
    _failures.last = call.kernel.name, said, error.with_traceback(None)


def explained(message: str) -> BaseException:
    """The error of a run-time check; that of an extern kernel with what the kernel said.

    What is no `Exception`, such as KeyboardInterrupt and SystemExit, is given as it is.
    """
    kernel, said, error = getattr(_failures, "last", (None, "", None))
    if error is None or not message.endswith(f"{FAILED} {kernel}"):
        return ExecutionError(message)
    del _failures.last
    return ExecutionError(f"{message}: {said}") if isinstance(error, Exception) else error


def failure(call: KernelCall, place: str | None, error: Exception) -> ExecutionError:
    """The error of a call that the interpreter makes, at a place of the program."""
    where = f"{place}: " if place else ""
    return ExecutionError(f"{where}{FAILED} {call.kernel.name}: {_said(call, error)}")


def _said(call: KernelCall, error: Exception) -> str:
    """What an error says, for what, and whose code it was; Lamina's own has no place."""
    kernel = call.kernel
    place = kernel.entry.place if kernel.entry is not None else _definition(kernel)
    place = (place and place_in(error, place.rpartition(":")[0])) or place
    said = f"{type(error).__name__}: {error}"
    if kernel.covers is not None:
        said += f"; it computes {kernel.covers(call)}"
    if kernel.entry is not None:
        return f"{said}; extension '{kernel.entry.extension}' ({place})"
    return f"{said}; the kernel stands at {place}" if place else said


def _definition(kernel: ExternKernel) -> str:
    """`file:line` of a kernel's function; nothing for one of Lamina's."""
    code = getattr(kernel.function, "__code__", None)
    if code is None or str(getattr(kernel.function, "__module__", "")).startswith("lamina."):
        return ""
    return f"{code.co_filename}:{code.co_firstlineno}"
