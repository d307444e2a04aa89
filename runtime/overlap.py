"""Arguments that share memory which the program writes to: they cannot be passed.

A program reads what its arguments hold when it is called and writes new values back at its end.
An eager program would see its own writes through the other argument at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lamina.dialects.errors import ArgumentError
from lamina.dialects.records import record
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.arguments import describe
from lamina.runtime.entry import Slot


@record
class Range:
    """Memory to look at: the place of its pointer, its bytes, and whether the program writes it."""

    pointer: int
    bytes: int
    written: bool


def watched_ranges(slots: Sequence[Slot], written: set[int]) -> list[Range]:
    """What a call has to compare; nothing where nothing is written.

    `written` are the places of what the program mutates. Of what is bound, tensors that are only
    read can meet inputs that are written.
    """
    kinds = {slots[index].kind for index in written}
    read = ("input", *CONSTANT_KINDS) if "input" in kinds else ("input",) if kinds else ()
    return [
        Range(index, slot.size, index in written)
        for index, slot in enumerate(slots)
        if slot.size and (index in written or slot.kind in read)
    ]


def check_overlap(
    slots: Sequence[Slot], ranges: Sequence[Range], addresses: Sequence[int | None]
) -> None:
    """Raises ArgumentError if a range that is written has a byte in common with another one."""
    spans = sorted((addresses[r.pointer] or 0, i) for i, r in enumerate(ranges))
    last: dict[bool, tuple[int, int]] = {}  # the furthest end so far: of all, of those written
    for start, i in spans:
        written = ranges[i].written
        end, other = last.get(not written, (0, i))
        if start < end:
            raise _shared(slots, ranges[i], ranges[other])
        span = (start + ranges[i].bytes, i)
        for only_written in (False, True) if written else (False,):
            last[only_written] = max(last.get(only_written, span), span)


def check_strided(
    slots: Sequence[Slot],
    ranges: Sequence[Range],
    addresses: Sequence[int | None],
    copied: Mapping[int, np.ndarray],
) -> None:
    """As `check_overlap` for pairs of which one is not row-major: element by element.

    `copied` has arrays over the caller's memory by the places of pointers. Raises ArgumentError
    also for such an array that is written and has several elements in one place.
    """
    arrays = [
        copied[r.pointer]
        if r.pointer in copied
        else array_at(addresses[r.pointer] or 0, (r.bytes,), 1, (1,))
        for r in ranges
    ]
    for i, one in enumerate(ranges):
        if one.written and one.pointer in copied and not _is_distinct(arrays[i]):
            raise ArgumentError(
                f"{_named(slots, one.pointer)}: the program writes to it, and some of its "
                "elements share memory; pass a copy"
            )
        for j in range(i):
            other = ranges[j]
            strided = one.pointer in copied or other.pointer in copied
            if strided and (one.written or other.written) and _share(arrays[i], arrays[j]):
                raise _shared(slots, one, other)


def array_at(
    address: int, shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...]
) -> np.ndarray:
    """An array of opaque elements over memory that somebody else keeps; strides in bytes."""
    return np.asarray(_Interface(address, shape, itemsize, strides))


class _Interface:
    def __init__(
        self, address: int, shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...]
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{itemsize}",
            "shape": shape,
            "strides": strides,
            "data": (address, True),
        }


_MOST_WORK: Any = 1 << 16  # NumPy's stubs know two values only
"""Steps in which NumPy has to find an element in common; what takes longer counts as shared."""


def _share(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=_MOST_WORK))
    except np.exceptions.TooHardError:
        return True


def _is_distinct(array: np.ndarray) -> bool:
    """Whether each dimension steps over all that those of smaller steps reach."""
    reach = array.itemsize
    for step, extent in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if step < reach:
            return False
        reach += step * (extent - 1)
    return True


def check_bound(slots: Sequence[Slot], written: set[int], addresses: Sequence[int | None]) -> None:
    """As `check_overlap`, for what is bound once: parameters, buffers and constants."""
    held = [index for index, slot in enumerate(slots) if slot.kind in CONSTANT_KINDS and slot.size]
    ranges = [Range(index, slots[index].size, index in written) for index in held]
    if any(r.written for r in ranges):
        check_overlap(slots, ranges, addresses)


def _shared(slots: Sequence[Slot], one: Range, other: Range) -> ArgumentError:
    first, second = sorted((one, other), key=lambda r: r.pointer)
    target = one if one.written else other
    names = [_named(slots, r.pointer) for r in (first, second, target)]
    return ArgumentError(
        f"{names[0]} and {names[1]} share memory, and the program writes to {names[2]}; "
        "pass a copy of one of them"
    )


def _named(slots: Sequence[Slot], index: int) -> str:
    slot = slots[index]
    if slot.kind != "input":
        return f"{slot.kind} '{slot.name}'"
    position = sum(earlier.kind == "input" for earlier in slots[:index])
    return describe(position, slot)
