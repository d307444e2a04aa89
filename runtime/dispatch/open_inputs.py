"""Inputs whose extents calls tell: what native code reads them by."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from lamina.dialects.records import record
from lamina.runtime.dispatch.flags import LIMITED
from lamina.runtime.dispatch.native import bucket
from lamina.runtime.dispatch.records import MOST_RANK, structure
from lamina.runtime.entry import Slot


@record
class OpenTerm:
    """A multiple of a size, or of the product of several, by their places."""

    factor: int
    sizes: tuple[int, ...]


@record
class OpenSize:
    """A size of which a program is for values from `least` to `most`, `step` from `start` on.

    `is_passed` says that it is an input of the program. A size that is the sum of `terms` and an
    `offset` is none: arguments that have it are checked.
    """

    least: int
    most: int
    start: int = 0
    step: int = 1
    is_passed: bool = True
    terms: Sequence[OpenTerm] = ()
    offset: int = 0


@record
class OpenExtent:
    """An extent that is `factor` times a size, by its place, and `offset`."""

    size: int
    factor: int
    offset: int


@record
class OpenInputs:
    """The first `count` inputs of a program, whose shapes tell the sizes that are its last inputs.

    `extents` has the open dimensions of inputs, by the places of both. Inputs at `numbers` are
    Python integers that are sizes; each has one extent. `calls` counts calls that native code
    takes. Without sizes it is a program of known shapes.
    """

    count: int
    sizes: Sequence[OpenSize] = ()
    extents: Mapping[int, Mapping[int, OpenExtent]] = field(
        default_factory=dict[int, Mapping[int, OpenExtent]]
    )
    numbers: Collection[int] = ()
    calls: Any = field(default_factory=ctypes.c_int64)

    def fits(self, slots: Sequence[Slot]) -> bool:
        """Whether native code can tell sizes by inputs of these slots, and pass them."""
        added = slots[self.count :]
        return (
            len(added) == sum(size.is_passed for size in self.sizes)
            and all(slot.dtype == "i64" and not slot.shape for slot in added)
            and all(len(slot.shape) <= MOST_RANK for slot in slots)
            and all(slots[place].dtype == "i64" for place in self.numbers)
            and all(e.factor > 0 for dims in self.extents.values() for e in dims.values())
            and all(len(term.sizes) <= 2 for size in self.sizes for term in size.terms)
        )

    def tables(self, values: Sequence[Any], slots: Sequence[Slot]) -> tuple[Any, Any, list[object]]:
        """The `Value` records of inputs and the `OpenSize` records, of those of all inputs; and
        what has to live as long as they."""
        inputs = (structure("Value") * max(self.count, 1))(*values[: self.count])
        kept: list[object] = []
        for place, dims in self.extents.items():
            closed = OpenExtent(-1, 0, 0)
            rank = 1 if place in self.numbers else len(slots[place].shape)
            rows = [dims.get(dim, closed) for dim in range(rank)]
            touched = slots[place].touched or [1] * rank
            table = (structure("Open") * len(rows))(
                *(
                    (row.size, least, row.factor, row.offset)
                    for row, least in zip(rows, touched, strict=True)
                )
            )
            kept.append(table)
            inputs[place].open = ctypes.addressof(table)
            inputs[place].bucket = bucket(slots[place].size)
            inputs[place].form = int(place in self.numbers)
        added = iter(values[self.count :])
        pointers = [next(added).pointer if size.is_passed else -1 for size in self.sizes]
        for place, dims in self.extents.items():
            limits = slots[place].limits
            is_written = inputs[place].flags & 1  # a new value goes back whole
            if (
                limits is not None
                and not is_written
                and all(
                    (extent.factor, extent.offset) == (1, 0)
                    and limits[dim] == pointers[extent.size] >= 0
                    for dim, extent in dims.items()
                )
            ):
                inputs[place].flags |= LIMITED
        sizes = (structure("OpenSize") * max(len(self.sizes), 1))(
            *(
                (size.least, size.most, size.start, size.step, pointer, 0, None, size.offset)
                for size, pointer in zip(self.sizes, pointers, strict=True)
            )
        )
        for held, size in zip(sizes, self.sizes, strict=False):
            if size.terms:
                terms = _terms(size.terms)
                kept.append(terms)
                held.terms, held.term_count = ctypes.addressof(terms), len(size.terms)
        return inputs, sizes, kept


def _terms(terms: Sequence[OpenTerm]) -> Any:
    rows = ((term.factor, *(*term.sizes, -1)[:2]) for term in terms)
    return (structure("Term") * len(terms))(*rows)
