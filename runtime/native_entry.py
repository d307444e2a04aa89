"""A compiled program as a C function, for callers that bring memory of their own."""

from __future__ import annotations

import ctypes
from typing import Any

from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.dispatch.shortage import memory_of
from lamina.runtime.entry import OUTPUT_KINDS, Slot
from lamina.runtime.program import MachineCode

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)

_OWN = ("arena", "mutation")
"""Kinds of slots that a call writes, of which each table has memory of its own."""
_OPEN = ("input", *OUTPUT_KINDS)
"""Kinds of slots that the caller fills in."""


class NativeEntry:
    """The entry point `int32_t main(void **pointers)` of a program, as `Compiled.native` gives it.

    `slots` says in order what each pointer is to: `kind`, `name`, `dtype`, `shape` and `size` in
    bytes. `pointers()` gives a table in which only those of kinds `input`, `output`, `size` and
    `check` are missing; memory is row-major, of native byte order, and aligned as an element is.
    `address` is for callers in C, `function` calls it from Python through ctypes, without the GIL.
    `message(status)` is what a result other than 0 means.

        entry = compiled.native
        pointers = entry.pointers()
        for number, slot in enumerate(entry.slots):
            if slot.kind in ("input", "output"):
                pointers[number] = arrays[slot.name].ctypes.data
        status = entry.function(pointers)

    Threads may call at once, each with a table of its own, if the program mutates nothing and draws
    no random numbers. Of arguments that it mutates, the new value is in the slot of kind `mutation`
    whose `target` is the argument's name, to be copied by the caller, or, if the slot is
    `in_place`, in the argument.
    """

    def __init__(self, bound: BoundProgram, code: MachineCode) -> None:
        self.slots: tuple[Slot, ...] = tuple(bound.slots)
        """What each pointer is to, in order."""
        self.address: int = bound.main
        """Where the function stands, as long as this object lives."""
        self.function = _PROTOTYPE(bound.main)
        """The function, for ctypes: it takes a table of pointers and gives a status."""
        self._bound, self._code = bound, code

    def pointers(self) -> ctypes.Array[ctypes.c_void_p]:
        """A table of pointers for calls one after another, which keeps its memory alive.

        The program's constants are in it, and scratch memory of its own; inputs and outputs are
        null, for the caller to fill in. OutOfMemoryError if there is no memory for it.
        """
        template = self._bound.template
        table: Any = type(template)(*template)
        kept: list[object] = [self]
        for number, slot in enumerate(self.slots):
            if slot.kind in _OPEN:
                table[number] = None
            elif slot.kind in _OWN and slot.size:
                memory = AlignedMemory(slot.size, memory_of(self.slots, slot))
                table[number] = memory.address
                kept.append(memory)
        table.kept = kept
        return table

    def message(self, status: int) -> str:
        """What a status means that a call has given: `success` for 0, else what was wrong.

        Raises ValueError for a number that the program never gives.
        """
        if status == 0:
            return "success"
        try:
            if status > 0:
                return str(self._code.error(status))
        except IndexError:
            pass
        raise ValueError(f"status {status}: the program has no such check")
