"""The state that random numbers come from: a seed, and a counter of the draws so far.

Programs share one state, so that numbers of two programs never repeat each other; `Compiled.seed`
gives a program a state of its own. Calls of programs advance the counter in place.
"""

from typing import Any

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

    Raises ArgumentError for what is no integer.
    """
    _SHARED[:] = make_state(seed)
