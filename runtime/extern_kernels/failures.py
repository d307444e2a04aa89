"""What extern kernels said when they failed, kept until the program that called them has ended."""

from __future__ import annotations

import threading

_failures = threading.local()


def record(kernel: str, error: BaseException) -> None:
    """Keeps the error of a kernel for `explained` on this thread."""
    _failures.last = kernel, f"{type(error).__name__}: {error}"


def explained(message: str) -> str:
    """A run-time check's message; that of an extern kernel with what the kernel said."""
    kernel, text = getattr(_failures, "last", (None, ""))
    if kernel is not None and message == f"extern kernel failed: {kernel}":
        return f"{message}: {text}"
    return message
