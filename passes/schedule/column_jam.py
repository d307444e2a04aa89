"""Reductions into columns in register tiles: unroll-and-jam of one more kept dimension.

A window's totals lie side by side along the image's lines. A tile takes neighbouring vectors of a
line and, jammed, the same vectors at several positions of another kept dimension (lines of the
image, or channels of a group): what they share is loaded once, and there are enough accumulators
to hide the latency of an addition. Tiles at the end of an extent are moved up to end there, and
compute some totals twice, so that only lines shorter than a vector need a mask.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from lamina.passes.schedule.column import ColumnEmitter
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.peel import mask_below
from lamina.passes.schedule.stages import Stage


class ColumnJamEmitter(ColumnEmitter):
    """Emits a single stage's reduction over the sweep's other dims, `unroll` vectors by `jam`."""

    def run(
        self, emit: Emitter, envs: dict[Stage, Env], ranges: Sequence[tuple[Index, Index]]
    ) -> None:
        (stage,) = self.sweep.stages
        jam = stage.schedule.jam
        assert jam is not None
        extent, columns = stage.extents[jam.dim], self.sweep.extents[self.place]
        steps, wide = self._steps(columns)

        def lines(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            first = self._moved_up(inner, at, extent, jam.count)
            bound = [
                {stage: {**envs[stage], jam.dim: inner.plus(first, j)}} for j in range(jam.count)
            ]

            def block(deeper: Emitter, column: Index, values: list[SSAValue]) -> list[SSAValue]:
                start = self._moved_up(deeper, column, columns, wide)
                places = [deeper.plus(start, step) for step in steps]
                self._tile(deeper, bound, ranges, places, columns)
                return values

            inner.loop(0, columns, wide, [], block)
            return values

        emit.loop(0, extent, jam.count, [], lines)

    def _steps(self, columns: int) -> tuple[list[int], int]:
        """Where the vectors of a tile begin, and how many columns they cover."""
        wide = self.unroll * self.lanes
        if columns >= wide:
            return list(range(0, wide, self.lanes)), wide
        last = max(0, columns - self.lanes)
        return [min(n * self.lanes, last) for n in range(self.unroll)], columns

    @staticmethod
    def _moved_up(emit: Emitter, at: Index, extent: int, size: int) -> Index:
        return at if extent % size == 0 else emit.least(at, extent - size)

    def _tile(
        self,
        emit: Emitter,
        bound: list[dict[Stage, Env]],
        ranges: Sequence[tuple[Index, Index]],
        places: list[Index],
        columns: int,
    ) -> None:
        mask = mask_below(emit, columns, 0, self.lanes) if columns < self.lanes else None
        reduced = [p for p in range(len(ranges)) if p != self.place]
        start = self._start(emit)
        totals = iter(
            self._sum(emit, bound, ranges, reduced, places, mask, start * len(places) * len(bound))
        )
        for envs in bound:
            for place in places:
                for stage, number in self.reductions:
                    total = next(totals)
                    self._store_total(emit, envs[stage], stage, number, total, place, mask)

    def _sum(
        self,
        emit: Emitter,
        bound: list[dict[Stage, Env]],
        ranges: Sequence[tuple[Index, Index]],
        reduced: list[int],
        places: list[Index],
        mask: SSAValue | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        if reduced:
            dim, *rest = reduced

            def body(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                deeper = [self._bind(envs, dim, at) for envs in bound]
                return self._sum(inner, deeper, ranges, rest, places, mask, values)

            low, high = ranges[dim]
            return emit.loop(low, high, 1, carried, body)
        count = len(self.reductions)
        made: list[SSAValue] = []
        for envs in bound:
            prepared = {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages}
            for place in places:
                part = carried[len(made) : len(made) + count]
                made += self._step(emit, envs, prepared, place, mask, part)
        return made

    def _accumulate(
        self,
        emit: Emitter,
        values: list[SSAValue],
        totals: Sequence[SSAValue],
        mask: SSAValue | None,
    ) -> list[SSAValue]:
        # Lanes that are masked off are not stored: what they add up does not matter.
        return super()._accumulate(emit, values, totals, None)
