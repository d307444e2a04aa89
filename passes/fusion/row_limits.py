"""Rows of a kernel that count, as digits of their numbers: from limits of points to `live`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import Digit, LiveRows
from lamina.dialects.records import record
from lamina.passes.fusion.element_limits import (
    Points,
    Reach,
)


@record
class RowLimit:
    """Rows of which the position in a row dimension, by its place, `// stride % extent` counts up
    to a size, or to what follows from one."""

    place: int
    stride: int
    extent: int
    end: Reach


Rows = dict[Operation, frozenset[RowLimit]]
"""The limits of the rows of each nest of a kernel."""


def row_limits(points: Points, rows: Sequence[int], extents: Sequence[int]) -> frozenset[RowLimit]:
    """The limits that are digits of one row dimension, of a domain of these extents; none of groups
    that follows from one of their rows."""
    found = {
        RowLimit(place, point.stride, point.extent, point.end)
        for point in points
        for place, dim in enumerate(rows)
        if isinstance(point.end, Reach)
        and point.form == Linear.dim(dim)
        and point.extent > 1
        and extents[dim] % (point.stride * point.extent) == 0
    }
    return frozenset(limit for limit in found if not any(_follows(limit, x) for x in found))


def _follows(limit: RowLimit, other: RowLimit) -> bool:
    """Whether a limit is that of the groups of so many of the rows up to another one."""
    size, rest = divmod(limit.stride, other.stride)
    if limit.end.divisor == 1 or rest or size == 1 or limit.place != other.place:
        return False
    is_same_digit = limit.extent * size == other.extent
    return is_same_digit and other.end.groups(size) == limit.end


def by_place(limit: RowLimit) -> tuple[int, ...]:
    """Outermost first; of several ends of one digit, one that needs no arithmetic, but last those
    that leave out less than half of the rows whatever the size is."""
    end = limit.end
    wide = 2 * max(end.offset, end.least) >= limit.extent * end.divisor
    simple = (end.divisor, end.factor, end.least, abs(end.offset), end.offset)
    return limit.place, -limit.stride, int(wide), *simple


def digits_of(
    extents: Sequence[int], limits: frozenset[RowLimit], numbers: Mapping[Reach, int]
) -> LiveRows | None:
    """The digits of rows of these extents; None if none of them is limited."""
    digits: list[Digit] = []
    for place, extent in enumerate(extents):
        left = extent
        for limit in sorted((x for x in limits if x.place == place), key=by_place):
            reach = limit.stride * limit.extent
            if left % reach:
                continue  # it overlaps one that is further out
            digits.append(Digit(left // reach))
            digits.append(Digit(limit.extent, numbers[limit.end]))
            left = limit.stride
        digits.append(Digit(left))
    live = LiveRows(tuple(digit for digit in digits if digit.extent > 1))
    return live if live.counts else None
