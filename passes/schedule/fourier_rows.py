"""Rows of a Fourier transform on their way into lanes and back.

Rows that lie behind each other are turned in registers (`transpose.turn`); those that lie side by
side are vectors as they stand, of which parts of complex numbers are told apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from xdsl.ir import SSAValue

from lamina.dialects.loop.fourier import Rows
from lamina.dialects.records import record
from lamina.passes.schedule.body import load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.strided_access import Elements, shuffled
from lamina.passes.schedule.transpose import turn

Number = tuple[SSAValue, SSAValue]
"""Real and imaginary part, of a row in each lane."""
Put = Callable[[Emitter, Index, SSAValue], None]
"""Takes an element's number in its row, and that of all rows."""
Result = Callable[[Emitter, Index], Number]
"""Gives a pair of elements by its number."""


@record
class LanesAt:
    """Which rows are in lanes."""

    outer: Index
    column: Index
    """Of rows side by side: the place outside of the columns, and the first one of these."""
    rows: tuple[Index, ...] = ()
    """Of rows behind each other: that of each lane, of which several may be the same."""


@record
class Ends(ABC):
    """One side of the transforms, in flat memory."""

    lanes: int
    """Rows that are transformed at once."""
    flat: SSAValue
    rows: Rows
    is_complex: bool

    def at(self, place: Index) -> Elements:
        """A vector from an element on, or a scalar where there is one lane."""
        return Elements(self.flat, place, 1, self.lanes)

    @property
    def elements(self) -> int:
        """Real numbers of a row."""
        return self.rows.numbers * (2 if self.is_complex else 1)

    @abstractmethod
    def read(self, emit: Emitter, at: LanesAt, put: Put) -> None:
        """Hand on each element of the rows in lanes."""

    @abstractmethod
    def write(self, emit: Emitter, at: LanesAt, result: Result) -> None:
        """Store each pair of elements of the rows in lanes."""


class RowsInLanes(Ends):
    """Rows behind each other; lanes beyond the last of few rows do again what it does."""

    def read(self, emit: Emitter, at: LanesAt, put: Put) -> None:
        """In squares, the last of which may begin in the one before it."""

        def tile(inner: Emitter, begin: Index) -> None:
            start = inner.least(begin, self.elements - self.lanes)
            places = [self._place(inner, at.rows[lane], start) for lane in range(self.lanes)]
            rows = [load(inner, self.at(place)).value for place in places]
            for number, value in enumerate(self._turned(inner, rows)):
                put(inner, inner.plus(start, number), value)

        emit.each(0, self.elements, self.lanes, tile)

    def write(self, emit: Emitter, at: LanesAt, result: Result) -> None:
        """Likewise."""
        pairs = max(1, self.lanes // 2)

        def tile(inner: Emitter, begin: Index) -> None:
            start = inner.least(begin, self.elements // 2 - pairs)
            numbers = [result(inner, inner.plus(start, number)) for number in range(pairs)]
            columns = [part for number in numbers for part in number]
            for begin in range(0, 2 * pairs, self.lanes):
                rows = self._turned(inner, columns[begin : begin + self.lanes])
                place = inner.plus(inner.times(start, 2), begin)
                for lane, value in enumerate(rows):
                    where = self._place(inner, at.rows[lane], place)
                    store(inner, value, self.at(where))

        emit.each(0, self.elements // 2, pairs, tile)

    def _place(self, emit: Emitter, row: Index, start: Index) -> Index:
        return emit.plus(emit.times(row, self.elements), start)

    def _turned(self, emit: Emitter, rows: list[SSAValue]) -> list[SSAValue]:
        return rows if self.lanes == 1 else turn(emit, rows)


class Columns(Ends):
    """Rows side by side."""

    def read(self, emit: Emitter, at: LanesAt, put: Put) -> None:
        """One number of each row after the other."""

        def number(inner: Emitter, n: Index) -> None:
            place = self._place(inner, at, n)
            if not self.is_complex:
                put(inner, n, load(inner, self.at(place)).value)
                return
            low, high = (
                load(inner, self.at(inner.plus(inner.times(place, 2), part))).value
                for part in (0, self.lanes)
            )
            for part in (0, 1):
                value = (low, high)[part]
                if self.lanes > 1:
                    every = list(range(part, 2 * self.lanes, 2))
                    value = shuffled(inner, low, high, every)
                put(inner, inner.plus(inner.times(n, 2), part), value)

        emit.each(0, self.rows.numbers, 1, number)

    def write(self, emit: Emitter, at: LanesAt, result: Result) -> None:
        """Likewise."""

        def number(inner: Emitter, k: Index) -> None:
            value = result(inner, k)
            if not self.is_complex:
                for part in (0, 1):
                    n = inner.plus(inner.times(k, 2), part)
                    place = self._place(inner, at, n)
                    store(inner, value[part], self.at(place))
                return
            begin = inner.times(self._place(inner, at, k), 2)
            for part in (0, 1):
                piece = value[part]
                if self.lanes > 1:
                    half = range(part * self.lanes // 2, (part + 1) * self.lanes // 2)
                    turns = [lane + other for lane in half for other in (0, self.lanes)]
                    piece = shuffled(inner, *value, turns)
                where = inner.plus(begin, part * self.lanes)
                store(inner, piece, self.at(where))

        emit.each(0, self.elements // 2, 1, number)

    def _place(self, emit: Emitter, at: LanesAt, number: Index) -> Index:
        row = emit.plus(emit.times(at.outer, self.rows.numbers), number)
        return emit.plus(emit.times(row, self.rows.columns), at.column)
