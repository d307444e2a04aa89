"""Sizes as values of a program, for what makes ops of sizes as it makes them of numbers."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.sizes.size import Extent, Size


class SizeValues(Protocol):
    """What a function whose sizes are open knows of them while it is converted."""

    def value(self, size: Extent) -> SSAValue:
        """The value of index type that `size` has in each call."""
        ...

    def number(self, size: Extent, kind: Attribute) -> SSAValue:
        """The value that `size` has, of an integer type or index."""
        ...

    def extent(self, value: SSAValue) -> Extent | None:
        """What a value is in sizes of the arguments, or None where nobody knows."""
        ...


size_values: ContextVar[SizeValues | None] = ContextVar("size_values", default=None)
"""Those of the function that is converted; None where all sizes are numbers."""


def with_values(given: Any) -> Any:
    """An argument of an op, or a list of them, with values in the place of sizes."""
    held = size_values.get()
    if held is None:
        return given
    if isinstance(given, Size):
        return held.value(given)
    if isinstance(given, list | tuple):
        return [held.value(entry) if isinstance(entry, Size) else entry for entry in given]
    return given


def with_sizes(given: Any) -> Any:
    """An argument that an op has, or a list of them, with sizes in the place of their values."""
    held = size_values.get()
    if held is None:
        return given
    entries = given if isinstance(given, list) else [given]
    told = [held.extent(entry) if isinstance(entry, SSAValue) else None for entry in entries]
    made = [entry if size is None else size for entry, size in zip(entries, told, strict=True)]
    return made if isinstance(given, list) else made[0]
