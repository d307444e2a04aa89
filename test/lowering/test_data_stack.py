"""Frames of Python's calls: none of them takes memory from the system again and again."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from lamina.lowering.data_stack import with_frames_together

CALLS = 2000
"""Calls from each depth: each takes a page where a chunk of frames ends in front of it."""


def _leaf(a: int) -> int:
    return a + 1


def _calls(depth: int) -> int:
    """Calls a function from so many frames further down; the pages that the process took."""
    if depth:
        return _calls(depth - 1)
    begin = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for number in range(CALLS):
        _leaf(number)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - begin


def _most(calls: Callable[[int], int]) -> int:
    return max(calls(depth) for depth in range(400))


def test_no_depth_of_calls_takes_pages_for_each() -> None:
    assert _most(with_frames_together(_calls)) < CALLS // 10


def test_results_names_and_errors_are_those_of_the_function() -> None:
    @with_frames_together
    def divide(a: int, *, by: int = 2) -> int:
        """a // by."""
        return a // by

    assert (divide(6), divide(6, by=3)) == (3, 2)
    assert (divide.__name__, divide.__doc__) == ("divide", "a // by.")
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)
