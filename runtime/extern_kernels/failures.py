"""What extern kernels said when they failed, kept until the program that called them has ended."""

from __future__ import annotations

import threading

from lamina.dialects.errors import ExecutionError

_failures = threading.local()


def record(kernel: str, error: BaseException) -> None:
    """Keeps the error of a kernel for `explained` on this thread.

    Its frames are let go: they hold arrays over memory that is the program's.
    """
    _failures.last = kernel, error.with_traceback(None)


def explained(message: str) -> BaseException:
    """The error of a run-time check; that of an extern kernel with what the kernel said.

    What is no `Exception`, such as KeyboardInterrupt and SystemExit, is given as it is.
    """
    kernel, error = getattr(_failures, "last", (None, None))
    if error is None or message != f"extern kernel failed: {kernel}":
        return ExecutionError(message)
    del _failures.last
    if not isinstance(error, Exception):
        return error
    return ExecutionError(f"{message}: {type(error).__name__}: {error}")
