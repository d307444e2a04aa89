"""How many programs a process has compiled."""

from __future__ import annotations

from collections import deque
from itertools import count

_numbers = count(1)
_last: deque[int] = deque([0], maxlen=1)  # threads may append to it


def count_program() -> None:
    """Counts one more."""
    _last.append(next(_numbers))


def compile_count() -> int:
    """How many programs this process has compiled so far, or taken from the disk cache.

    Each entry counts, each graph of torch.compile, and each version of a program whose sizes are
    open.

        before = lamina.compile_count()
        compiled(x)
        print(lamina.compile_count() - before, "versions for this call")
    """
    return _last[0]
