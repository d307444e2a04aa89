"""Calls whose arguments have types and shapes that came before: what runs them, at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MOST_KNOWN = 4096
"""Sets of shapes that are remembered."""

Run = Callable[[Sequence[Any]], Any]
"""Runs what was chosen, for a call's arguments by position."""


class KnownCalls:
    """What runs calls, by the type of the first argument and the shapes of all.

    Numbers have no shapes: calls that pass any are never known.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[Any, ...], Run] = {}

    def find(self, args: Sequence[Any]) -> Run | None:
        """What runs such arguments, if it is known."""
        try:
            return self._runs.get((type(args[0]), *[value.shape for value in args]))
        except (AttributeError, IndexError, TypeError):
            return None

    def keep(self, args: Sequence[Any], run: Run) -> None:
        """Remembers what runs such arguments, if they all have shapes."""
        if len(self._runs) >= MOST_KNOWN:
            self._runs.clear()
        try:
            self._runs[(type(args[0]), *[value.shape for value in args])] = run
        except (AttributeError, IndexError, TypeError):
            return

    def forget(self) -> None:
        """Lets go of all that is remembered."""
        self._runs.clear()
