"""Reductions into columns in register tiles: unroll-and-jam of one more kept dimension.

A window's totals lie side by side along the image's lines. A tile takes neighbouring vectors of a
line and, jammed, the same vectors at several positions of another kept dimension (lines of the
image, or channels of a group): what they share is loaded once, and there are enough accumulators
to hide the latency of an addition. Tiles at the end of an extent are moved up to end there, and
compute some totals twice, so that only lines shorter than a vector need a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.schedule.column import COLUMN_UNROLL, ColumnEmitter
from lamina.passes.schedule.combine import combine
from lamina.passes.schedule.edges import mask_below
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweep import LIGHT_BODY

ACCUMULATOR_SHARE = 2
"""One register in so many holds a total; the others hold what is multiplied."""


@dataclass(frozen=True)
class ColumnTile:
    """Vectors of a line, at `jam` positions of the dimension `jammed`."""

    vectors: int
    jammed: int
    jam: int


def choose_column_tile(
    stage: Stage, column: int, outer: Sequence[int], memory: Memory, target: Target, lanes: int
) -> ColumnTile | None:
    """The tile of a reduction with vectors along `column`, one of the kept dims `outer` jammed.

    None where nothing is left to jam, or the body is so long that it fills the pipeline alone. The
    jammed dimension is the one along which the fewest vectors are read anew; of equals, the last.
    """
    wide = [d for d in outer if stage.extents[d] > 1]
    if not wide or lanes == 1 or body_cost(stage.op) > LIGHT_BODY or stage.op.sources:
        return None
    streams = [memory.layout(r) for r in stage.reads if memory.layout(r).coefficient(column)]
    jammed = min(reversed(wide), key=lambda d: sum(form.coefficient(d) != 0 for form in streams))
    totals = len(stage.writes)
    most = max(1, target.vector_registers // ACCUMULATOR_SHARE // totals)
    across = -(-stage.extents[column] // lanes)
    vectors = -(-across // -(-across // min(COLUMN_UNROLL, most)))
    extent = stage.extents[jammed]
    blocks = -(-extent // max(1, most // vectors))
    return ColumnTile(vectors, jammed, -(-extent // blocks))


class ColumnTileEmitter(ColumnEmitter):
    """Emits a single stage's reduction over the sweep's other dims, in tiles of `tile`."""

    tile: ColumnTile

    def run(
        self, emit: Emitter, envs: dict[Stage, Env], ranges: Sequence[tuple[Index, Index]]
    ) -> None:
        (stage,) = self.sweep.stages
        extent, columns = stage.extents[self.tile.jammed], self.sweep.extents[self.place]
        steps, wide = self._steps(columns)

        def lines(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            first = self._moved_up(inner, at, extent, self.tile.jam)
            bound = [
                {stage: {**envs[stage], self.tile.jammed: inner.plus(first, j)}}
                for j in range(self.tile.jam)
            ]

            def block(deeper: Emitter, column: Index, values: list[SSAValue]) -> list[SSAValue]:
                start = self._moved_up(deeper, column, columns, wide)
                places = [deeper.plus(start, step) for step in steps]
                self._tile(deeper, bound, ranges, places, columns)
                return values

            inner.loop(0, columns, wide, [], block)
            return values

        emit.loop(0, extent, self.tile.jam, [], lines)

    def _steps(self, columns: int) -> tuple[list[int], int]:
        """Where the vectors of a tile begin, and how many columns they cover."""
        wide = self.tile.vectors * self.lanes
        if columns >= wide:
            return list(range(0, wide, self.lanes)), wide
        last = max(0, columns - self.lanes)
        return [min(n * self.lanes, last) for n in range(self.tile.vectors)], columns

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
        start = [self._identity(emit, s, n) for s, n in self.reductions]
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
        stage: Stage,
        number: int,
        total: SSAValue,
        value: SSAValue,
        mask: SSAValue | None,
    ) -> SSAValue:
        # Lanes that are masked off are not stored: what they add up does not matter.
        return combine(emit, stage.combiners[number], value, total)
