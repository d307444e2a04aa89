"""What a thread does without while it makes programs: the cycle collector, and forks."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from lamina.dialects.forks import forks_wait


@contextmanager
def collector_paused() -> Iterator[None]:
    """Python's cycle collector does not run by itself.

    IR, and the compiler's own modules, are many small objects, which set the collector off again
    and again; one run over the heap of a process that has torch loaded takes 0.2 s and frees
    nothing while they are made. At the end what is young is looked at by itself: so many objects
    would set off a run over all.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] > gc.get_threshold()[0]:
                gc.collect(0)
            gc.enable()


@contextmanager
def compiling() -> Iterator[None]:
    """For a thread that reads or compiles: the cycle collector is paused, and forks wait."""
    with collector_paused(), forks_wait():
        yield


def free_ir() -> None:
    """Frees the IR that nobody has any more, in a place where others work meanwhile.

    What is younger than the block of `compiling` is looked at; its end would set this off.
    """
    gc.collect(0)
