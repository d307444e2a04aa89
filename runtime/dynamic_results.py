"""Results whose size depends on data: cut to it after the call, and checks of sizes.

`bound-dynamic-shapes` makes a program return them padded, with their sizes as results of kind
`size` and what must hold as results of kind `check`. Here results become what the program means:
the part that has elements, Python numbers for 0-d results that stand for numbers, or an
ExecutionError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lamina.dialects.errors import ExecutionError
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.entry import Slot

_HIDDEN = ("size", "check")

VIEW_SHARE = 2
"""A result is a view of its padded memory if it takes at least one part in so many; a smaller one
is copied, so that it does not hold the rest."""


@dataclass(frozen=True)
class Cutter:
    """How the native results of a program become those that it means.

    `slots` are those of its results; with any of kinds `size` and `check` behind the others.
    """

    slots: tuple[Slot, ...]

    @property
    def is_needed(self) -> bool:
        """Whether any result is to be cut, checked or made a number."""
        return any(s.kind in _HIDDEN or s.is_number for s in self.slots)

    def sizes(self, results: Sequence[Any]) -> list[int]:
        """The numbers in the results of kind `size`, once all checks hold.

        Raises ExecutionError with the message of the first check that does not.
        """
        for slot, value in zip(self.slots, results, strict=True):
            if slot.kind == "check" and not value.item():
                raise ExecutionError(slot.target or "an assertion failed")
        return [
            int(value.item())
            for slot, value in zip(self.slots, results, strict=True)
            if slot.kind == "size"
        ]

    def cut(self, results: Sequence[Any]) -> list[Any]:
        """The results of the program, of arrays for all slots in order."""
        sizes = self.sizes(results)
        return [
            _of_size(slot, value, sizes)
            for slot, value in zip(self.slots, results, strict=True)
            if slot.kind not in _HIDDEN
        ]


def _of_size(slot: Slot, value: Any, sizes: Sequence[int]) -> Any:
    if slot.is_number:
        return value.item()
    if slot.sizes is None:
        return value
    extents = [
        extent if number < 0 else sizes[number]
        for extent, number in zip(slot.shape, slot.sizes, strict=True)
    ]
    if extents == list(slot.shape):
        return value
    part = value[tuple(slice(0, extent) for extent in extents)]
    is_prefix = extents[1:] == list(slot.shape[1:])
    if is_prefix and extents[0] * VIEW_SHARE >= slot.shape[0]:
        return part
    return part.copy() if isinstance(part, np.ndarray) else part.clone().contiguous()


def cutting(layout: Layout, slots: Sequence[Slot]) -> Layout:
    """The layout of a call whose results are cut; the same if none has to be.

    `slots` are those of the native outputs, in order.
    """
    cutter = Cutter(tuple(slots))
    if not cutter.is_needed:
        return layout
    count = len(layout.entries)
    entries = (*layout.entries, *(n for n, s in enumerate(slots) if s.kind in _HIDDEN))
    hidden = tuple(slot for slot in slots if slot.kind in _HIDDEN)
    places = tuple(None if n is None else slots[n] for n in layout.entries)
    return replace(
        layout,
        form="list" if layout.form == "list" else "tuple",
        entries=entries,
        finish=_finish(layout, count, hidden, places),
    )


def _finish(
    layout: Layout, count: int, hidden: tuple[Slot, ...], places: tuple[Slot | None, ...]
) -> Callable[[Sequence[Any]], Any]:
    rest = Cutter(hidden)

    def finish(packed: Sequence[Any]) -> Any:
        sizes = rest.sizes(packed[count:])
        results = [
            value if slot is None else _of_size(slot, value, sizes)
            for slot, value in zip(places, packed, strict=False)
        ]
        if layout.form == "single":
            return results[0]
        made: Any = results if layout.form == "list" else tuple(results)
        return made if layout.finish is None else layout.finish(made)

    return finish
