"""Reductions into columns in register tiles: unroll-and-jam of one more kept dimension.

A window's totals lie side by side along the image's lines. A tile takes neighbouring vectors of a
line and, jammed, the same vectors at several positions of another kept dimension (lines of the
image, or channels of a group): what they share is loaded once, and there are enough accumulators
to hide the latency of an addition. Tiles at the end of an extent are moved up to end there, and
compute some totals twice, so that only lines shorter than a vector need a mask.
"""

from __future__ import annotations

from collections.abc import Sequence

from lamina.passes.schedule.column import ColumnEmitter
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Envs
from lamina.passes.schedule.peel import mask_below


class ColumnJamEmitter(ColumnEmitter):
    """Emits a single stage's reduction over the sweep's other dims, `unroll` vectors by `jam`."""

    def run(self, emit: Emitter, envs: Envs, ranges: Sequence[tuple[Index, Index]]) -> None:
        (stage,) = self.sweep.stages
        jam = stage.schedule.jam
        assert jam is not None
        extent, columns = stage.extents[jam.dim], self.sweep.extents[self.place]
        steps, wide = self._steps(columns)

        def lines(inner: Emitter, at: Index) -> None:
            first = self._moved_up(inner, at, extent, jam.count)
            bound = [
                {stage: {**envs[stage], jam.dim: inner.plus(first, j)}} for j in range(jam.count)
            ]
            mask = mask_below(inner, columns, 0, self.lanes) if columns < self.lanes else None

            def block(deeper: Emitter, column: Index) -> None:
                start = self._moved_up(deeper, column, columns, wide)
                places = [deeper.plus(start, step) for step in steps]
                self.tile(deeper, bound, ranges, places, mask)

            inner.each(0, columns, wide, block)

        emit.each(0, extent, jam.count, lines)

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
