"""Loops over the rows that count of ops that are kernels of their own: exactly these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from lamina.dialects.loop import FourierOp, SortOp
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import End, count_of, ends_of, split_digits
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.points import over_points


@record
class LiveDomain:
    """Where the digits of each dimension end: one for each, or those of live rows."""

    digits: tuple[tuple[End, ...], ...]

    @staticmethod
    def of(
        emit: Emitter, op: OrderedNest | SortOp | FourierOp, memory: Memory, least: int = 1
    ) -> LiveDomain:
        """Of an op whose kernel `emit` begins; numbers are read where it stands, and are `least` or
        more."""
        extents, rows, live = op.row_extents, rows_of(op), live_rows_of(op)
        return LiveDomain.within(emit, extents, rows, live, memory, least)

    @staticmethod
    def within(
        emit: Emitter,
        extents: Sequence[int],
        rows: Sequence[int],
        live: LiveRows | None,
        memory: Memory,
        least: int = 1,
    ) -> LiveDomain:
        """Of dimensions of these extents, some of which are rows."""
        found: list[tuple[End, ...]] = [(End.of(extent),) for extent in extents]
        if live is not None:
            arguments = emit.entry.args
            flat = {number: memory.flat[arguments[number]] for number in live.counts}
            by_row = live.by_row([extents[d] for d in rows])
            assert by_row is not None  # verified
            for dim, digits in zip(rows, by_row, strict=True):
                found[dim] = tuple(ends_of(emit, digits, flat, least)) or found[dim]
        return LiveDomain(tuple(found))

    @property
    def is_prefix(self) -> bool:
        """Whether the positions that it takes lie behind each other, from the first on."""
        _, *rest = [end for digits in self.digits for end in digits] or [End.of(1)]
        return all(isinstance(end.end, int) for end in rest)

    @property
    def all_count(self) -> bool:
        """Whether no digit ends at a number of the call."""
        return all(isinstance(end.end, int) for digits in self.digits for end in digits)

    def count(self, emit: Emitter, dims: Sequence[int]) -> Index:
        """How many positions dimensions take together."""
        return count_of(emit, [end for dim in dims for end in self.digits[dim]])

    def split(self, emit: Emitter, number: Index, dims: Sequence[int]) -> list[Index]:
        """The position along each of these dimensions, of a number that counts what they take."""
        return split_digits(emit, number, [self.digits[dim] for dim in dims])

    def row(self, emit: Emitter, number: Index, dims: Sequence[int]) -> Index:
        """The row-major number among all positions, of one that counts what these dimensions
        take."""
        first, *rest = [end for dim in dims for end in self.digits[dim]] or [End.of(1)]
        if all(isinstance(end.end, int) for end in rest):
            return number
        (row,) = split_digits(emit, number, [[first, *rest]])
        return row

    def is_one(self, dim: int) -> bool:
        """Whether a dimension is one digit."""
        return len(self.digits[dim]) == 1

    def end(self, dim: int) -> Index:
        """Where a dimension of one digit ends."""
        (end,) = self.digits[dim]
        return end.end

    def prefix(self, emit: Emitter, dim: int) -> Index:
        """How many positions of a dimension come in front of all others: those that its first
        digit takes, where all behind it are whole."""
        first, *rest = self.digits[dim]
        assert all(isinstance(end.end, int) for end in rest)
        return emit.times(first.end, prod(end.extent for end in rest))

    def over_points(
        self,
        emit: Emitter,
        dims: Sequence[int],
        body: Callable[[Emitter, list[Index]], None],
        cut: Mapping[int, tuple[Index, Index]] | None = None,
    ) -> None:
        """Serial loops over the positions of dimensions, the last innermost. `cut` gives bounds of
        a dimension of one digit that are not all of it."""
        groups = [self.digits[dim] for dim in dims]
        bounds: list[tuple[Index, Index]] = []
        for dim, group in zip(dims, groups, strict=True):
            own = None if cut is None else cut.get(dim)
            bounds += [(0, end.end) for end in group] if own is None else [own]

        def point(inner: Emitter, at: list[Index]) -> None:
            left, position = list(at), list[Index]()
            for group in groups:
                place: Index = 0
                for end in group:
                    place = inner.plus(inner.times(place, end.extent), left.pop(0))
                position.append(place)
            body(inner, position)

        over_points(emit, bounds, point)


@record
class Blocks:
    """Live rows in blocks of `size`, which divides all rows; those left behind the last whole block
    run one by one."""

    count: Index
    size: int

    @staticmethod
    def of(emit: Emitter, domain: LiveDomain, dims: Sequence[int], size: int) -> Blocks:
        """Of the rows that these dimensions have together."""
        return Blocks(domain.count(emit, dims), size)

    def tasks(
        self, emit: Emitter, body: Callable[[Emitter, Index, int], None], *, parallel: bool | None
    ) -> None:
        """A task for each block: `body` takes its first row, and how many there are."""
        size = self.size

        def block(inner: Emitter, number: Index) -> None:
            first = inner.times(number, size)
            if self.is_whole(inner):
                body(inner, first, size)
                return
            left = inner.value(inner.minus(self.count, first))
            whole = inner.add(compare_op(left, inner.value(size), "sge"))

            def singly(rest: Emitter) -> None:
                rest.each(first, self.count, 1, lambda e, row: body(e, row, 1))

            inner.branch(whole, lambda then: body(then, first, size), singly)

        blocks = emit.quotient(emit.plus(self.count, size - 1), size)
        if self.is_whole(emit):
            blocks = emit.quotient(self.count, size)
        emit.tasks(blocks, block, parallel=parallel)

    def is_whole(self, emit: Emitter) -> bool:
        """Whether blocks divide the live rows as well."""
        return emit.divisor(self.count) % self.size == 0
