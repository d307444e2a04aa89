"""Forks of the process, which wait for threads that compile.

A forked child has only the thread that forked. What the others were in the middle of stays so for
ever: a module that they import keeps the lock of its import, a `cached_property` the lock of its
class, LLVM its own. So a fork waits until every other thread that compiles is between two passes.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

PATIENCE = 30.0
"""Seconds that a fork waits at most, longer than a pass is to take (not measured): one that itself
waits for the thread that forks would wait for ever."""


class Lock(Protocol):
    """What is held while the process forks."""

    def acquire(self) -> object: ...
    def release(self) -> object: ...


_state = threading.Condition()
_working: Counter[int] = Counter()
"""How deep each thread is inside `forks_wait`, by its identity."""
_forks = 0
"""How many threads are to fork."""
_held: list[Lock] = []


@contextmanager
def forks_wait() -> Iterator[None]:
    """Keeps other threads from forking; they wait for the end, or for `let_fork`."""
    me = threading.get_ident()
    with _state:
        _enter(me, 1)
    try:
        yield
    finally:
        with _state:
            _leave(me, 1)


def let_fork() -> None:
    """Lets threads that wait to fork do so: this one is in the middle of nothing."""
    if not _forks:
        return
    me = threading.get_ident()
    with _state:
        depth = _working[me]
        _leave(me, depth)
        _enter(me, depth)


def held_while_forking(lock: Lock) -> None:
    """The process forks only when the forking thread has `lock`, too; those named later, later."""
    _held.append(lock)


def _enter(me: int, depth: int) -> None:
    while _forks and not _working[me]:
        _state.wait()
    _working[me] += depth


def _leave(me: int, depth: int) -> None:
    _working[me] -= depth
    if not _working[me]:
        del _working[me]
        _state.notify_all()


def _before() -> None:
    global _forks
    _state.acquire()
    _forks += 1
    me = threading.get_ident()
    _state.wait_for(lambda: not any(_working[it] for it in _working if it != me), PATIENCE)
    for lock in _held:
        lock.acquire()


def _after() -> None:
    global _forks
    for lock in reversed(_held):
        lock.release()
    _forks -= 1
    _state.notify_all()
    _state.release()


def _after_in_child() -> None:
    global _state, _forks
    for lock in reversed(_held):
        lock.release()
    _state, _forks = threading.Condition(), 0
    me = threading.get_ident()
    for thread in set(_working) - {me}:
        del _working[thread]


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
