"""Which version of a graph with symbolic sizes a call runs, where calls like it came before."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from ctypes import c_int64
from operator import itemgetter
from typing import Any

from lamina.frontends.dynamo_weights import Call


class OtherSizesError(Exception):
    """The arguments have sizes that a version is not for."""


def chosen_call(
    places: Sequence[int],
    runs: Mapping[Any, tuple[Call, c_int64]],
    other: weakref.WeakMethod[Call],
) -> Call:
    """Calls what `runs` has for the symbols at these places of the arguments, and counts it; by one
    symbol, or a tuple of several. Other calls are those of the method `other`."""
    told, found = itemgetter(*places), runs.get

    def call(args: list[Any]) -> list[Any]:
        held = found(told(args))
        if held is not None:
            run, calls = held
            try:
                results = run(args)
            except OtherSizesError:
                pass
            else:
                calls.value += 1
                return results
        called = other()
        assert called is not None  # who calls this holds its object
        return called(args)

    return call
