"""Calls of compiled programs whose arrays stand between pages that may not be touched."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from math import prod

import numpy as np

from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import OUTPUT_KINDS


def guarded(shape: Sequence[int], dtype: np.dtype, at_end: bool) -> np.ndarray:
    """An array that ends (or begins) at a page which may not be touched; all bytes are 0xff."""
    size = prod(shape) * dtype.itemsize
    room = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + 2 * mmap.PAGESIZE)
    memory[:] = b"\xff" * len(memory)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    for page in (base, base + mmap.PAGESIZE + room):
        assert protect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    start = mmap.PAGESIZE + (room - size if at_end else 0)
    whole = np.frombuffer(memory, np.uint8)
    return whole[start : start + size].view(dtype).reshape(tuple(shape))


def call_guarded(compiled: Compiled, arrays: Sequence[np.ndarray], at_end: bool) -> list:
    """Call native code with every input and output between guard pages."""
    pointers = [pointer or 0 for pointer in compiled._bound.template]
    given = iter(arrays)
    held: list[np.ndarray] = []
    outputs: list[np.ndarray] = []
    for number, slot in enumerate(compiled.program.main.slots):
        if slot.kind not in ("input", *OUTPUT_KINDS):
            continue
        array = guarded(slot.shape, slot.storage_dtype, at_end)
        if slot.kind == "input":
            value = next(given)
            assert value.shape == slot.shape and value.dtype == slot.storage_dtype
            array[...] = value
        elif slot.kind == "output":
            outputs.append(array)
        held.append(array)
        pointers[number] = array.ctypes.data
    assert compiled.program.code is not None
    compiled.program.code.call("main", pointers)
    return outputs
