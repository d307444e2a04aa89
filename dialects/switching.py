"""How soon a thread that waits for Python's lock has it."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lamina.dialects.forks import held_while_forking

SWITCH_SECONDS = 1e-4
"""Python's own is 5 ms, as long as LLVM takes for a small kernel."""

_lock = threading.Lock()
held_while_forking(_lock)
_intervals: list[float] = []
"""What the interval was when each of the threads that ask for a short one began."""


@contextmanager
def eager_switching() -> Iterator[None]:
    """Lets a thread that waits for Python's lock have it after 0.1 ms, not after 5.

    For threads that need the lock between any two calls of LLVM, for microseconds each time. The
    last of those that ask for it at once restores what was before the first.
    """
    with _lock:
        _intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        with _lock:
            restored = _intervals.pop()
            if not _intervals:
                sys.setswitchinterval(restored)
