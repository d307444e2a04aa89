"""What a version for sizes up to bounds writes to padded copies of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.checked_call import check_writable
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.overlap import check_strided


def check_writes(bound: BoundProgram, values: Sequence[Any]) -> None:
    """Looks at a call's own arguments where the program writes to some: copies share no memory.

    Raises ArgumentError for what is read-only, or shares memory with another argument or with what
    is bound.
    """
    written = _written(bound)
    if not written:
        return
    arrays = {}
    for position, (index, value) in enumerate(zip(_inputs(bound), values, strict=False)):
        slot, kind = bound.slots[index], array_kind(kind_name(value) or "numpy")
        given = kind.viewed(value, slot, position)
        if index in written:
            check_writable(given, value, slot, position)
        arrays[index] = kind.memory(given)
    ranges = [
        held
        for held in bound.ranges
        if held.pointer in arrays or bound.slots[held.pointer].kind in CONSTANT_KINDS
    ]
    check_strided(bound.slots, ranges, list(bound.template), arrays)


def write_back(bound: BoundProgram, values: Sequence[Any], padded: Sequence[Any]) -> None:
    """Gives a call's arguments what the program has written to their padded copies."""
    written = _written(bound)
    for index, value, made in zip(_inputs(bound), values, padded, strict=False):
        if index in written and made is not value:
            elements = made[tuple(map(slice, value.shape))]
            array_kind(kind_name(value) or "numpy").write_back(value, elements)


def _written(bound: BoundProgram) -> set[int]:
    return {target for _, target, _ in bound.copies}


def _inputs(bound: BoundProgram) -> list[int]:
    return [index for index, slot in enumerate(bound.slots) if slot.kind == "input"]
