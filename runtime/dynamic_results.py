"""Results whose size depends on data: cut to it after the call, and checks of sizes.

`bound-dynamic-shapes` makes a program return them padded, with their sizes as results of kind
`size` and what must hold as results of kind `check`. Here results become what the program means:
the part that has elements, Python numbers for 0-d results that stand for numbers, or an
ExecutionError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from lamina.dialects.errors import ExecutionError
from lamina.dialects.records import record
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.records import VIEW_SHARE
from lamina.runtime.entry import Slot

_HIDDEN = ("size", "check")

_NATIVE_NUMBERS = ("i64", "f64", "i1")


@record
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
    if slot.extents is not None:
        part = value.reshape(-1)[: prod(extents)].reshape(extents)
        is_prefix = True
    else:
        part = value[tuple(slice(0, extent) for extent in extents)]
        is_prefix = extents[1:] == list(slot.shape[1:])
    if is_prefix and prod(extents) * VIEW_SHARE >= slot.elements:
        return part
    return part.copy() if isinstance(part, np.ndarray) else part.clone().contiguous()


def forms_of(slots: Sequence[Slot]) -> list[str]:
    """What native code makes of each of the native outputs of a program, in order: one of
    `FORMS_OF_OUTPUTS`."""
    return [_form(slot) for slot in slots]


def _form(slot: Slot) -> str:
    if slot.kind in _HIDDEN:
        return slot.kind
    if slot.is_number:
        return slot.dtype if slot.dtype in _NATIVE_NUMBERS else "array"
    if slot.sizes is not None and any(number >= 0 for number in slot.sizes):
        return "cut"
    return "array"


def cuts_of(slot: Slot, slots: Sequence[Slot]) -> list[int]:
    """For each dimension of a native output the output that is its size, or -1 for all of it."""
    places = [place for place, other in enumerate(slots) if other.kind == "size"]
    return [places[number] if number >= 0 else -1 for number in slot.sizes or ()]


def with_numbers(layout: Layout, slots: Sequence[Slot]) -> Layout:
    """The layout of a call some results of which are numbers of types that native code does not
    make; the same if none is.

    `slots` are those of the native outputs, in order.
    """
    places = [
        n is not None and slots[n].is_number and _form(slots[n]) == "array" for n in layout.entries
    ]
    if not any(places):
        return layout

    def finish(packed: Sequence[Any]) -> Any:
        results = [
            value.item() if place else value for place, value in zip(places, packed, strict=True)
        ]
        if layout.form == "single":
            return results[0]
        made: Any = results if layout.form == "list" else tuple(results)
        return made if layout.finish is None else layout.finish(made)

    return replace(layout, form="list" if layout.form == "list" else "tuple", finish=finish)
