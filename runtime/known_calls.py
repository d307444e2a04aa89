"""Calls whose arguments have types and shapes that came before: what runs them, at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import index
from typing import Any

MOST_KNOWN = 4096
"""Sets of shapes that are remembered."""

Run = Callable[[Sequence[Any]], Any]
"""Runs what was chosen, for a call's arguments by position."""


class KnownCalls:
    """What runs calls, by the type of the first argument and the shapes of all.

    Numbers have no shapes: calls that pass any are never known, but for arguments that are sizes
    themselves, at the positions `sizes`, whose values stand for shapes.
    """

    def __init__(self, sizes: Collection[int] = ()) -> None:
        self._runs: dict[tuple[Any, ...], Run] = {}
        self._sizes = sizes

    def find(self, args: Sequence[Any]) -> Run | None:
        """What runs such arguments, if it is known."""
        try:
            return self._runs.get(self._key(args))
        except (AttributeError, IndexError, TypeError):
            return None

    def keep(self, args: Sequence[Any], run: Run) -> None:
        """Remembers what runs such arguments, if they all have shapes."""
        if len(self._runs) >= MOST_KNOWN:
            self._runs.clear()
        try:
            self._runs[self._key(args)] = run
        except (AttributeError, IndexError, TypeError):
            return

    def _key(self, args: Sequence[Any]) -> tuple[Any, ...]:
        if not self._sizes:
            return (type(args[0]), *[value.shape for value in args])
        return (
            type(args[0]),
            *[
                _index(value) if place in self._sizes else value.shape
                for place, value in enumerate(args)
            ],
        )

    def forget(self) -> None:
        """Lets go of all that is remembered."""
        self._runs.clear()


def _index(value: Any) -> int:
    """An integer; TypeError for other numbers, and for truth values."""
    if isinstance(value, bool):
        raise TypeError
    return index(value)
