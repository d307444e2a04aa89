"""Arguments that share memory which the program writes to: they cannot be passed.

A program reads what its arguments hold when it is called and writes new values back at its end.
An eager program would see its own writes through the other argument at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina.dialects.errors import ArgumentError
from lamina.runtime.arguments import describe
from lamina.runtime.entry import Slot

_BOUND = ("parameter", "buffer", "constant")


@dataclass(frozen=True)
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
    read = ("input", *_BOUND) if "input" in kinds else ("input",) if kinds else ()
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


def check_bound(slots: Sequence[Slot], written: set[int], addresses: Sequence[int | None]) -> None:
    """As `check_overlap`, for what is bound once: parameters, buffers and constants."""
    held = [index for index, slot in enumerate(slots) if slot.kind in _BOUND and slot.size]
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
