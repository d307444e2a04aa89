"""What is said where there is no memory for a slot of a program."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from lamina.dialects.errors import OutOfMemoryError
from lamina.runtime.entry import OUTPUT_KINDS, Slot
from lamina.runtime.free_memory import ASKED_FROM, free_bytes

MOST_BYTES = (1 << 63) - 1
"""Of a slot: native code counts in signed numbers of 64 bits."""


def memory_of(slots: Sequence[Slot], slot: Slot) -> str:
    """How errors name the memory of one of the slots of a program."""
    if slot.kind == "arena":
        return "scratch memory of the program"
    if slot.kind == "mutation":
        return f"the new value of '{slot.target}'"
    if slot.kind == "output":
        return f"result {result_number(slots, slot)} ({slot.type_text})"
    return f"{slot.kind} '{slot.name}'"


def result_number(slots: Sequence[Slot], slot: Slot) -> int:
    """Which of the results of a program an output is."""
    return [other.name for other in slots if other.kind == "output"].index(slot.name)


def refuse_endless(slots: Sequence[Slot]) -> None:
    """Raises OutOfMemoryError for slots that take more bytes than there are addresses."""
    for slot in slots:
        if slot.size > MOST_BYTES:
            is_output = slot.kind == "output"
            raise OutOfMemoryError(
                f"{memory_of(slots, slot)} takes {slot.size} bytes, more than there are addresses",
                result_number(slots, slot) if is_output else None,
            )


class Shortage:
    """What native code calls where it has no memory for an output."""

    def __init__(self, slots: Sequence[Slot], untouched: Callable[[], int]) -> None:
        self._slots, self._untouched = slots, untouched
        self._outputs = [slot for slot in slots if slot.kind in OUTPUT_KINDS]

    def __call__(self, output: int, address: int) -> None:
        """Raises OutOfMemoryError for an output by its place among these.

        `address` is that of the pointers of the call, or 0 where it has run already.
        """
        pointers: Any = None
        if address:
            pointers = (ctypes.c_void_p * len(self._slots)).from_address(address)
        slot = self._outputs[output]
        extents = self._extents(slot, pointers)
        size = self._bytes(slot, pointers)
        shown = "x".join([*map(str, extents), slot.codes or slot.dtype])
        number = result_number(self._slots, slot) if slot.kind == "output" else None
        what = f"result {number} (tensor<{shown}>) takes {size} bytes"
        others = sum(self._bytes(other, pointers) for other in self._outputs[:output])
        others += self._untouched() if address else 0
        if others >= ASKED_FROM:
            what += f", with others and scratch memory {size + others}"
        raise OutOfMemoryError(f"{what}, and {free_bytes()} are free", number)

    def _bytes(self, slot: Slot, pointers: Any) -> int:
        return prod(self._extents(slot, pointers)) * slot.storage_dtype.itemsize

    def _extents(self, slot: Slot, pointers: Any) -> list[int]:
        """Those of a call, as far as it tells them before it runs."""
        if pointers is None or slot.limits is None:
            return list(slot.shape)
        return [
            most if limit < 0 else self._told(limit, most, pointers)
            for most, limit in zip(slot.shape, slot.limits, strict=True)
        ]

    def _told(self, limit: int, most: int, pointers: Any) -> int:
        is_told = self._slots[limit].kind == "input" or self._slots[limit].derived is not None
        if not is_told or not pointers[limit]:
            return most
        return min(ctypes.c_int64.from_address(pointers[limit]).value, most)
