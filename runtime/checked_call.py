"""Calls whose arguments are not the plain arrays that native code reads: they are made so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from lamina.dialects.errors import ArgumentError
from lamina.runtime.arguments import (
    ArrayKind,
    array_kind,
    check_count,
    describe,
    is_foreign,
    is_number,
    kind_name,
    wrong_kind,
)
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.native import native_calls
from lamina.runtime.entry import Slot
from lamina.runtime.overlap import check_overlap, check_strided


class CheckedCall:
    """Calls of a program with whatever stands for its arrays.

    Each argument is checked in Python, with an error that says what is wrong with it. Arrays of
    other strides, of swapped bytes or of other libraries and numbers are copied to what the program
    reads; what the program writes goes back to where they are. Subclasses of arrays and tensors
    that need no gradient just now pass.
    """

    def __init__(self, bound: BoundProgram, layout: Layout) -> None:
        self._layout = layout
        self._inputs = [(i, slot) for i, slot in enumerate(bound.slots) if slot.kind == "input"]
        self._slots = bound.slots
        # Boxed calls come from AOTAutograd, which merges arguments that overlap.
        self._ranges = bound.ranges if layout.boxed is None else ()
        self._mutated = {target for _, target, _ in bound.copies}
        self._template = bound.template
        self._record, self._kept = bound.record(layout, self._never)

    def __call__(self, *values: Any) -> Any:
        """Runs the program on arrays in the order of its inputs; ArgumentError if one is unfit."""
        slots = [slot for _, slot in self._inputs]
        check_count(slots, len(values))
        name = self._kind(values, slots)
        provide(name)
        kind = array_kind(name)
        pointers = type(self._template)(*self._template)
        held: list[Any] = []
        strided: list[tuple[int, Any, Any]] = []
        for position, ((index, slot), value) in enumerate(zip(self._inputs, values, strict=True)):
            given = kind.viewed(value, slot, position)
            if index in self._mutated:
                check_writable(given, value, slot, position)
            own = kind.plain(given, slot)
            pointers[index] = kind.reader(slot, position)(own)
            held.append(own)
            if own is not given:
                strided.append((index, given, own))
        if self._ranges:
            check_overlap(self._slots, self._ranges, list(pointers))
            self._check_strided(kind, pointers, strided)
        made = native_calls().complete(_content(self._record), pointers, name == "torch")
        for index, given, own in strided:
            if index in self._mutated:
                kind.write_back(given, own)
        return made

    def _kind(self, values: Sequence[Any], slots: Sequence[Slot]) -> str:
        """The library of the first array or tensor; foreign arrays alone are taken by NumPy."""
        names = [None if is_number(value) else kind_name(value) for value in values]
        found = next((name for name in names if name is not None), None)
        for position, (name, value) in enumerate(zip(names, values, strict=True)):
            plain = is_number(value) or is_foreign(value)
            if (name is None and not plain) or name not in (None, found):
                raise wrong_kind(position, slots[position], value, found)
        if found is not None:
            return found
        return "numpy" if any(map(is_foreign, values)) else self._layout.native_kind

    def _check_strided(
        self, kind: ArrayKind, pointers: Any, strided: Sequence[tuple[int, Any, Any]]
    ) -> None:
        """As `check_overlap`, where one of two arrays was copied: by the elements they have."""
        if not strided or not self._mutated:
            return
        copied = {index: kind.memory(given) for index, given, _ in strided}
        check_strided(self._slots, self._ranges, list(pointers), copied)

    @staticmethod
    def _never(*_: Any) -> None:
        raise AssertionError("native code completes a call that has been checked")


@cache
def provide(kind: str) -> None:
    """Makes native calls take the arrays of a library."""
    native_calls().provide(array_kind(kind).native_api())


def _content(data: bytes) -> int:
    """The address of the first byte."""
    return np.frombuffer(data, np.uint8).ctypes.data


def check_writable(given: Any, value: Any, slot: Slot, position: int) -> None:
    """Raises ArgumentError for what cannot take the values that the program writes."""
    where = describe(position, slot)
    if is_number(value):
        raise ArgumentError(f"{where}: the program writes to it, pass an array, not a number")
    if isinstance(given, np.ndarray) and not given.flags.writeable:
        raise ArgumentError(f"{where}: the program writes to it, but it is read-only")
    if is_foreign(value) and not isinstance(given, np.ndarray):
        raise ArgumentError(f"{where}: the program writes to it, pass a tensor")
