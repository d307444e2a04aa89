"""The state that random numbers come from: a seed, and a counter of the draws so far.

Programs share one state, so that numbers of two programs never repeat each other; `Compiled.seed`
gives a program a state of its own. Calls of programs advance the counter in place. Programs of a
front end whose library has a generator begin each call at a seed drawn from that; see `DrawnState`.
"""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from lamina.dialects.errors import ArgumentError

State = np.ndarray[Any, np.dtype[np.int64]]
"""Two numbers, seed and counter: the bits of two unsigned 64-bit integers."""


def make_state(seed: int) -> State:
    """A state at the start of the sequence of `seed`, whose lowest 64 bits count.

    Raises ArgumentError for what is no integer.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ArgumentError(f"a seed is an integer, not {seed!r}")
    bits = int(seed) & ((1 << 64) - 1)
    return np.array([bits - (1 << 64) if bits >> 63 else bits, 0], np.int64)


_SHARED: State = make_state(0)


def shared_state() -> State:
    """The state of all programs that have none of their own."""
    return _SHARED


def manual_seed(seed: int) -> None:
    """Starts the sequence of `seed` for all programs but those that were given their own.

    Programs that came from torch draw from it too, until torch is given another seed. Raises
    ArgumentError for what is no integer.

        lamina.manual_seed(0)
    """
    _SHARED[:] = make_state(seed)
    _in_use_since.clear()
    _in_use_since.update({source: source.seed_in_use() for source in _sources})


class SeedSource(Protocol):
    """The generator of a library that programs come from."""

    def draw(self) -> int:
        """The next number of the generator, of 64 bits."""
        ...

    def seed_in_use(self) -> int:
        """The seed that the generator was last given."""
        ...


_sources: list[SeedSource] = []
_in_use_since: dict[SeedSource, int] = {}
"""The seed of each source when programs were given one of their own, by `manual_seed`."""

_shared_lock = threading.RLock()
_states: "weakref.WeakSet[DrawnState]" = weakref.WeakSet()


def _renew_locks() -> None:
    global _shared_lock
    _shared_lock = threading.RLock()
    for state in list(_states):
        state.renew_lock()


os.register_at_fork(after_in_child=_renew_locks)


class DrawnState:
    """The state of one program whose seeds come from `source`: a new one for each call.

    So the numbers of a program depend on the generator of a library as the library's own do:
    seeding it again, or setting back its state, repeats them.
    """

    def __init__(self, source: SeedSource) -> None:
        self.state = make_state(0)
        self._source = source
        self._lock = threading.RLock()
        self.is_drawn = True  # False once the program has a sequence of its own
        _states.add(self)
        if source not in _sources:
            _sources.append(source)

    def renew_lock(self) -> None:
        """A lock that is free, as a forked child needs it."""
        self._lock = threading.RLock()

    @contextmanager
    def call(self) -> Iterator[None]:
        """The state is ready for a call; other calls wait."""
        since = _in_use_since.get(self._source)
        if not self.is_drawn:
            yield
        elif since is None or since != self._source.seed_in_use():
            _in_use_since.pop(self._source, None)
            with self._lock:
                self.state[:] = make_state(self._source.draw())
                yield
        else:
            with _shared_lock, self._lock:
                self.state[:] = _SHARED
                try:
                    yield
                finally:
                    _SHARED[:] = self.state
