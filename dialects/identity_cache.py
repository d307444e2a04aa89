"""What functions gave for the very objects that they were given before.

Attributes and index maps of xDSL hash and compare field by field, some microseconds each time. They
never change, and those of IR are mostly shared, so that to know an object again is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

Given = TypeVarTuple("Given")
T = TypeVar("T")

MOST = 4096
"""Results that a function keeps, before it forgets all of them: a guess, some models' worth."""


def once_an_object(function: Callable[[*Given], T]) -> Callable[[*Given], T]:
    """A function of immutable objects that is called once for each, whatever they are equal to.

    Arguments stand by position. An object that is made for the call would never be met again:
    what is equal to it is another one.
    """
    # The arguments are kept as well: as long as they live, no other object has their identity.
    known: dict[Any, tuple[tuple[Any, ...], T]] = {}

    @wraps(function)
    def found(*given: *Given) -> T:
        key = id(given[0]) if len(given) == 1 else tuple(map(id, given))
        entry = known.get(key)
        if entry is None:
            if len(known) >= MOST:
                known.clear()
            entry = known[key] = given, function(*given)
        return entry[1]

    return found
