"""What a process makes once, however many threads ask for it first at the same time."""

import os
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A function of no arguments whose result is made by the first caller and kept.

    Unlike with `functools.cache`, callers that come meanwhile wait, so that there is one result. A
    call that raises leaves nothing behind. A forked child keeps what was made, and makes what
    another thread of its parent was still making.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)
        update_wrapper(self, make)

    def __call__(self) -> T:
        """The one result."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()
