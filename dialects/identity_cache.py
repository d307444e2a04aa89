"""What functions gave for the very objects that they were given before.

Attributes and index maps of xDSL hash and compare field by field, some microseconds each time. They
never change, and those of IR are mostly shared, so that to know an object again is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
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
    if _takes_one(function):
        return _once_for_one(function)
    known: dict[Any, tuple[tuple[Any, ...], T]] = {}

    @wraps(function)
    def found(*given: *Given) -> T:
        key = tuple(map(id, given))
        entry = known.get(key)
        if entry is None:
            if len(known) >= MOST:
                known.clear()
            entry = known[key] = given, function(*given)
        return entry[1]

    return found


class KnownGroups:
    """Groups of immutable objects that somebody has looked at, known again by identity."""

    def __init__(self) -> None:
        # The groups are kept: as long as their objects live, no others have their identity.
        self._known: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def __contains__(self, group: tuple[Any, ...]) -> bool:
        return tuple(map(id, group)) in self._known

    def add(self, group: tuple[Any, ...]) -> None:
        """Notes a group; of too many, all that are known are forgotten."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[tuple(map(id, group))] = group


def _takes_one(function: Callable[..., Any]) -> bool:
    code = unwrap(function).__code__
    return code.co_argcount == 1 and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)


def _once_for_one(function: Callable[..., T]) -> Callable[..., T]:
    """As for any, for the functions that nearly all calls are of: without tuples of arguments."""
    known: dict[int, tuple[Any, T]] = {}

    @wraps(function)
    def found(given: Any) -> T:
        entry = known.get(id(given))
        if entry is None:
            if len(known) >= MOST:
                known.clear()
            entry = known[id(given)] = given, function(given)
        return entry[1]

    return found
