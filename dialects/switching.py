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
_depth = 0
_before = 0.0


@contextmanager
def eager_switching() -> Iterator[None]:
    """Lets a thread that waits for Python's lock have it after 0.1 ms, not after 5.

    For threads that need the lock between any two calls of LLVM, for microseconds each time. The
    last of those that ask for it at once restores what was before the first.
    """
    global _depth, _before
    with _lock:
        if not _depth:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_SECONDS)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                sys.setswitchinterval(_before)
