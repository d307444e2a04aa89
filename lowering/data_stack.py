"""Room for the frames of Python's calls, so that none of them waits for memory.

CPython (3.11 and later) keeps frames in chunks of 16 KB. The call that does not fit gets a new
chunk from the system, and its return gives that back: a loop whose calls happen to cross this edge
pays for memory, and for the page that it touches first, each time. Half of the time in which
kernels of a network with open sizes were scheduled were 53,000 such chunks, while other networks,
a few frames nearer to the edge, had none.

A chunk is as large as its first frame asks for, rounded up to a power of two. So one function whose
frame asks for a little more than half of such a power leaves the other half to what it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SLOTS = 65_000
"""Of a frame, 8 bytes each, of which none is touched: 520 KB, for which a chunk has 1 MB."""


def with_frames_together(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which has the frames of all that it calls in one chunk of its own, up to
    some 500 KB."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return _roomy(function, args, kwargs)

    return call


def _roomy(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


_roomy.__code__ = _roomy.__code__.replace(co_stacksize=_SLOTS)
