"""Long reductions over rows: whole runs of each row are read, totals wait in the nearest cache.

A few rows far apart are added up together. So memory is read in a few long streams, which the
hardware prefetches, instead of a short piece of each row; and no chain of additions is longer
than a stream. Where tasks walk a part of each row, a stream jumps at the part's end, which no
hardware foresees: `prefetch_rows` has its lines asked for while an earlier row is added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, vector_load_op, vector_store_op
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.passes.schedule.column import ColumnEmitter
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Envs, Memory, Sweep
from lamina.passes.schedule.peel import Vectors, each_vector
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.prefetch import INTO_L2
from lamina.passes.schedule.stages import Access, Stage

Ranges = Sequence[tuple[Index, Index]]


class ColumnRfactorEmitter(ColumnEmitter):
    """Emits a reduction as `ColumnEmitter` does, in the streams of rows that `rfactor` asks for."""

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, outputs)
        schedule = sweep.schedule
        assert schedule.rfactor is not None
        self.split, self.streams = schedule.rfactor.dim, schedule.rfactor.count
        self.width = sweep.extents[self.place]
        if schedule.tile is not None:
            self.width = schedule.tile.count

    def run(self, emit: Emitter, envs: Envs, ranges: Ranges) -> None:
        low, high = ranges[self.place]
        totals = [
            emit.add(alloca_op(element, self._room())) for element in self.accumulators.elements()
        ]

        def block(inner: Emitter, start: Index) -> None:
            stop = inner.least(inner.plus(start, self.width), high)
            self._clear(inner, totals, inner.minus(stop, start))
            self._add_rows(inner, envs, ranges, (start, stop), totals)
            self._write(inner, envs, (start, stop), totals)

        emit.each(low, high, self.width, block)

    def _room(self) -> int:
        """Columns of the scratch for totals, in whole vectors."""
        columns = min(self.width, self.sweep.extents[self.place])
        return -(-columns // self.lanes) * self.lanes

    def _clear(self, emit: Emitter, totals: list[SSAValue], columns: Index) -> None:
        def clear(inner: Emitter, at: Index) -> None:
            for total, start in zip(totals, self._start(inner), strict=True):
                inner.run(vector_store_op(start, total, inner.value(at)))

        emit.each(0, columns, self.lanes, clear)

    def _add_rows(
        self,
        emit: Emitter,
        envs: Envs,
        ranges: Ranges,
        columns: tuple[Index, Index],
        totals: list[SSAValue],
    ) -> None:
        """Loops over the reduced dimensions; one is cut into streams."""
        (stage,) = self.sweep.stages
        split = self.sweep.order[stage].index(self.split)
        others = [p for p in range(len(ranges)) if p not in (self.place, split)]

        def at_point(inner: Emitter, at: list[Index]) -> None:
            bound = envs
            for place, index in zip(others, at, strict=True):
                bound = self._bind(bound, place, index)
            self._streams(inner, bound, split, ranges[split], columns, totals)

        over_points(emit, [ranges[p] for p in others], at_point)

    def _streams(
        self,
        emit: Emitter,
        envs: Envs,
        place: int,
        rows_between: tuple[Index, Index],
        columns: tuple[Index, Index],
        totals: list[SSAValue],
    ) -> None:
        first, end = rows_between
        assert first == 0  # tasks divide no reduced dimension
        length = emit.quotient(end, self.streams)

        def rows(inner: Emitter, at: Index, count: int = self.streams) -> None:
            together = [
                self._bind(envs, place, inner.plus(at, inner.times(length, k)))
                for k in range(count)
            ]
            later: list[Envs] = []
            if count > 1 and (ahead := self.sweep.schedule.prefetch_rows) is not None:
                next_rows = inner.least(inner.plus(at, ahead), inner.minus(length, 1))
                starts = [inner.plus(next_rows, inner.times(length, k)) for k in range(count)]
                later = [self._bind(envs, place, start) for start in starts]
            self._add_together(inner, together, later, columns, totals)

        emit.each(0, length, 1, rows)
        emit.each(emit.times(length, self.streams), end, 1, partial(rows, count=1))

    def _add_together(
        self,
        emit: Emitter,
        rows: list[Envs],
        later: list[Envs],
        columns: tuple[Index, Index],
        totals: list[SSAValue],
    ) -> None:
        """Add one row of each stream to the totals, and fetch `later` rows of the streams."""
        prepared = [
            {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages} for envs in rows
        ]
        fetched = self._fetched()

        def add(inner: Emitter, at: Vectors) -> None:
            place, sums = inner.minus(at.at, columns[0]), self._start(inner)
            for envs, known in zip(rows, prepared, strict=True):
                sums = self._step(inner, envs, known, at, sums)
            for envs, (stage, read) in product(later, fetched):
                env = {**envs[stage], self.sweep.order[stage][self.place]: at.at}
                index = inner.value(self.memory.offset(inner, read, env, None))
                inner.run(PrefetchOp(self.memory.flat[read.memory], [index], INTO_L2))
            kept = inner.value(place)
            before = self._totals(inner, totals, kept)
            after = self.accumulators.combined(inner, sums, before)
            for total, value in zip(totals, after, strict=True):
                inner.run(vector_store_op(value, total, kept))

        each_vector(emit, columns, self.lanes, add)

    def _fetched(self) -> list[tuple[Stage, Access]]:
        """Reads whose rows lie along the vectors, and are others in each row of a stream."""
        (stage,) = self.sweep.stages
        column = self.sweep.order[stage][self.place]
        return [
            (stage, read)
            for read in stage.reads
            if read.pad is None and read.stride(column) == 1 and read.stride(self.split)
        ]

    def _totals(self, emit: Emitter, totals: list[SSAValue], at: SSAValue) -> list[SSAValue]:
        """A vector of each of the totals."""
        return [
            emit.add(vector_load_op(total, at, VectorType(element, [self.lanes])))
            for total, element in zip(totals, self.accumulators.elements(), strict=True)
        ]

    def _write(
        self, emit: Emitter, envs: Envs, columns: tuple[Index, Index], totals: list[SSAValue]
    ) -> None:
        def write(inner: Emitter, at: Vectors) -> None:
            kept = self._totals(inner, totals, inner.value(inner.minus(at.at, columns[0])))
            for key, value in zip(self.reductions, kept, strict=True):
                self._store_total(inner, envs[key[0]], key, value, at)

        each_vector(emit, columns, self.lanes, write)
