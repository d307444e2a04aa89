"""Reductions whose result is contiguous along a kept dimension: vectors across, sums in loops.

Unroll-and-jam of one more kept dimension makes register tiles. A window's totals lie side by side
along the image's lines. A tile takes neighbouring vectors of a line and, jammed, the same vectors
at several positions of another kept dimension (lines of the image, or channels of a group): what
they share is loaded once, and there are enough accumulators to hide the latency of an addition.
Tiles at the end of an extent are moved up to end there, and compute some totals twice, so that only
lines shorter than a vector need a mask. Where an extent ends at a number of the call, which may be
less than a tile, single positions and masked vectors take the place of tiles then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from xdsl.ir import SSAValue

from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.scalar_ops import select_op
from lamina.passes.schedule.body import Lane
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.peel import Vectors, each_vector, mask_below
from lamina.passes.schedule.shared_loads import Positions, SharedLoads
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue
from lamina.passes.schedule.window_prefetch import WindowPrefetch, windows_ahead

Tile = Callable[[Emitter, Sequence[Vectors]], None]
"""Appends one register tile, of vectors at these places."""
Blocks = Callable[[Emitter, Tile], None]
"""Appends the tiles of some lines."""


class ColumnEmitter(SweepEmitter):
    """Emits a single stage's reduction over the sweep's other dims, vectorized along `place`."""

    jammed: tuple[Index, Index] | None = None
    """Positions of the jammed dimension that are run; None for all."""
    open_tiles: bool = False
    """Whether the jammed dimension, or that of vectors, ends at a number of the call."""
    shared: SharedLoads | None = None
    """What positions side by side share, while they are written out."""
    epilogue: TotalsEpilogue | None = None
    """What is computed of the totals before they are stored."""

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, outputs)
        self.positions = Positions()

    def run(self, emit: Emitter, envs: Envs, ranges: Sequence[tuple[Index, Index]]) -> None:
        if (jam := self.sweep.schedule.jam) is not None:
            self._jammed(emit, envs, ranges, jam)
            return

        def tile(inner: Emitter, at: Vectors) -> None:
            self.tile(inner, [envs], ranges, self._beside(inner, at.at, at.count, at.mask))

        each_vector(emit, ranges[self.place], self.lanes, tile, self.unroll)

    def _beside(self, emit: Emitter, at: Index, count: int, mask: SSAValue | None) -> list[Vectors]:
        places = [self.positions.behind(emit, at, n * self.lanes) for n in range(count)]
        return [Vectors(place, 1, mask) for place in places]

    def _jammed(
        self, emit: Emitter, envs: Envs, ranges: Sequence[tuple[Index, Index]], jam: By
    ) -> None:
        """Register tiles of `unroll` vectors by positions of the jammed dimension."""
        (stage,) = self.sweep.stages
        ahead = self._windows_ahead(stage, jam)
        low, high = self.jammed or (0, stage.extents[jam.dim])

        def run(inner: Emitter, first: Index, count: int, blocks: Blocks) -> None:
            lines = [self.positions.behind(inner, first, j) for j in range(count)]
            bound = [{stage: {**envs[stage], jam.dim: line}} for line in lines]

            def tile(deeper: Emitter, places: Sequence[Vectors]) -> None:
                for envs, at in product(bound, places if ahead else ()):
                    env = {**envs[stage], self.sweep.order[stage][self.place]: at.at}
                    for window in ahead:
                        window.emit(deeper, self.memory, env)
                self.tile(deeper, bound, ranges, places)

            blocks(inner, tile)

        if self.open_tiles:
            columns = partial(self._open_blocks, bounds=ranges[self.place])
            tiled = _if_as_long(emit, low, high, jam.count)

            def moved(inner: Emitter, at: Index) -> None:
                first = inner.least(at, inner.minus(high, jam.count))
                run(inner, first, jam.count, columns)

            emit.each(low, tiled, jam.count, moved)
            singly = partial(columns, masked=True)
            emit.each(tiled, high, 1, lambda inner, at: run(inner, at, 1, singly))
            return
        whole = stage.extents[jam.dim] % jam.count == 0 and emit.divisor(low) % jam.count == 0

        def lines(inner: Emitter, at: Index) -> None:
            first = at if whole else inner.least(at, inner.minus(high, jam.count))
            run(inner, first, jam.count, self._blocks)

        emit.each(low, high, jam.count, lines)

    def _blocks(self, emit: Emitter, tile: Tile) -> None:
        """Tiles along all columns; the last one is moved up."""
        columns = self.sweep.extents[self.place]
        wide = min(columns, self.unroll * self.lanes)
        last = max(0, wide - self.lanes)
        steps = [min(number * self.lanes, last) for number in range(self.unroll)]
        mask = mask_below(emit, columns, 0, self.lanes) if columns < self.lanes else None

        def block(inner: Emitter, column: Index) -> None:
            start = _moved_up(inner, column, columns, wide)
            places = [self.positions.behind(inner, start, step) for step in steps]
            tile(inner, [Vectors(place, 1, mask) for place in places])

        emit.each(0, columns, wide, block)

    def _open_blocks(
        self, emit: Emitter, tile: Tile, bounds: tuple[Index, Index], *, masked: bool = False
    ) -> None:
        """Tiles along the columns that count, the last one moved up; `masked` ones where they are
        fewer than a tile, or where that is asked for."""
        low, high = bounds
        wide = self.unroll * self.lanes
        tiled = low if masked else _if_as_long(emit, low, high, wide)

        def moved(inner: Emitter, at: Index) -> None:
            first = inner.least(at, inner.minus(high, wide))
            tile(inner, self._beside(inner, first, self.unroll, None))

        def rest(inner: Emitter, at: Index) -> None:
            places = self._beside(inner, at, self.unroll, None)
            masks = (mask_below(inner, high, place.at, self.lanes) for place in places)
            tile(inner, [replace(p, mask=m) for p, m in zip(places, masks, strict=True)])

        emit.each(low, tiled, wide, moved)
        emit.each(tiled, high, wide, rest)

    def _windows_ahead(self, stage: Stage, jam: By) -> list[WindowPrefetch]:
        """What tiles fetch for a line of results to come."""
        lines = self.sweep.schedule.prefetch_rows
        if lines is None:
            return []
        column = self.sweep.order[stage][self.place]
        found = windows_ahead(stage, self.memory, jam.dim, column, lines)
        if not found:
            legal = "a read from outside of the kernel whose windows slide from row to row"
            raise illegal(stage.op, f"prefetch_rows: with jam, of {legal}")
        return found

    def tile(
        self,
        emit: Emitter,
        rows: Sequence[Envs],
        ranges: Sequence[tuple[Index, Index]],
        places: Sequence[Vectors],
    ) -> None:
        """Reduce and store vectors at these `places` of several rows, which share their loops."""
        (stage,) = self.sweep.stages
        written_out = self._written_out(stage, ranges)
        reduced = [p for p in range(len(ranges)) if p not in (self.place, *written_out)]
        count = len(self.reductions)

        def point(inner: Emitter, at: list[Index], values: list[SSAValue]) -> list[SSAValue]:
            self.shared = SharedLoads(self.memory, self.positions) if written_out else None
            for near in product(*(range(self.sweep.extents[p]) for p in written_out)):
                index = zip((*reduced, *written_out), (*at, *near), strict=True)
                bound = {self.sweep.order[stage][place]: here for place, here in index}
                values = step(inner, bound, values)
            self.shared = None
            return values

        def step(inner: Emitter, bound: Env, values: list[SSAValue]) -> list[SSAValue]:
            made: list[SSAValue] = []
            for envs in rows:
                here = {s: {**env, **bound} for s, env in envs.items()}
                prepared = {s: self._prepare(inner, s, here[s]) for s in self.sweep.stages}
                for place in places:
                    part = values[len(made) : len(made) + count]
                    made += self._step(inner, here, prepared, place, part)
            return made

        start = self._start(emit) * (len(places) * len(rows))
        totals = iter(emit.nest([ranges[p] for p in reduced], start, point))
        for envs in rows:
            for at in places:
                made = dict[SSAValue, Lane]()
                for stage, number in self.reductions:
                    total = next(totals)
                    self._store_total(emit, envs[stage], (stage, number), total, at)
                    made[stage.writes[number].memory] = Lane(total, False)
                if self.epilogue is not None:
                    bound = {**envs[stage], self.sweep.order[stage][self.place]: at.at}
                    self.epilogue.run(emit, bound, made, at.mask)

    def _written_out(self, stage: Stage, ranges: Sequence[tuple[Index, Index]]) -> list[int]:
        """The places of the loops that are written out; those that end at numbers of the call are
        not."""
        dims, order = self.sweep.schedule.unroll_dims or (), self.sweep.order[stage]
        return [p for p in range(len(ranges)) if order[p] in dims and isinstance(ranges[p][1], int)]

    def _invariant(self, emit: Emitter, access: Access, env: Env, dim: int | None) -> Lane:
        if self.shared is None:
            return super()._invariant(emit, access, env, dim)
        there = env if dim is None else {**env, dim: 0}
        return self.shared.load(emit, access, there, Elements(self.memory.flat[access.memory], 0))

    def _elements(self, emit: Emitter, access: Access, at: Step) -> Lane:
        if self.shared is None or access.pad is not None or at.dim is None:
            return super()._elements(emit, access, at)
        stride = self.memory.lane_stride(access, at.dim)
        where = Elements(self.memory.flat[access.memory], 0, stride, self.lanes, at.mask)
        return self.shared.load(emit, access, at.env, where)

    def _accumulate(
        self,
        emit: Emitter,
        values: list[SSAValue],
        totals: Sequence[SSAValue],
        mask: SSAValue | None,
    ) -> list[SSAValue]:
        # Lanes that are masked off are not stored: what they add up does not matter. A region may
        # not be run on what is in them: a division by zero would end the process.
        named = all(monoid is None for _, _, monoid in self.accumulators.groups)
        return super()._accumulate(emit, values, totals, None if named else mask)

    def _store_total(
        self, emit: Emitter, env: Env, key: tuple[Stage, int], total: SSAValue, place: Vectors
    ) -> None:
        stage, number = key
        access = stage.writes[number]
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        dim = self.sweep.order[stage][self.place]
        at = self.memory.offset(emit, access, {**env, dim: place.at}, None)
        flat = self.memory.flat[access.memory]
        stride = self.memory.lane_stride(access, dim)
        store(emit, total, Elements(flat, at, stride, self.lanes, place.mask))


def _if_as_long(emit: Emitter, low: Index, high: Index, size: int) -> Index:
    """The end of a range that has so many positions at least; where it begins if it has fewer."""
    length = emit.value(emit.minus(high, low))
    fits = compare(emit, length, emit.value(size), "sge")
    return emit.add(select_op(fits, emit.value(high), emit.value(low)))


def _moved_up(emit: Emitter, at: Index, extent: int, size: int) -> Index:
    return at if extent % size == 0 else emit.least(at, extent - size)
