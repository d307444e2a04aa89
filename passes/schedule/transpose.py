"""Pointwise nests that read along another dimension than they write: register-tile transposes.

A square tile of vectors is loaded along the dimension that is contiguous in the source and turned
in registers by log2(lanes) rounds of two-input shuffles, so that both sides move whole vectors.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import vector
from xdsl.dialects.builtin import I64, DenseArrayBase, VectorType, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.passes.schedule.body import Body, Lane, load
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.peel import Vectors
from lamina.passes.schedule.prefetch import INTO_L2
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sweep import SweepEmitter


def turned_reads(stage: Stage, across: int, along: int) -> list[int]:
    """Reads that are contiguous along `across` while the nest is vectorized along `along`."""
    return [
        number
        for number, read in enumerate(stage.reads)
        if read.pad is None and read.stride(across) == 1 and read.stride(along) not in (0, 1)
    ]


class TransposeEmitter(SweepEmitter):
    """Emits a sweep over (across, along) in square tiles, the last ones partly filled.

    A range of `across` begins at a whole tile, and ends at one or at the end of the dimension.
    """

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, outputs)
        schedule = sweep.schedule
        self.ahead_tiles = schedule.prefetch_tiles or 0
        self.block = sweep.extents[0] if schedule.tile is None else schedule.tile.count

    def run(self, emit: Emitter, envs: Envs, ranges: list[tuple[Index, Index]]) -> None:
        """Emit the tiles of the ranges."""
        (low, high), _ = ranges
        extent = self.sweep.extents[0]
        whole = emit.least(high, extent - extent % self.lanes)

        def block(inner: Emitter, start: Index) -> None:
            stop = inner.least(inner.plus(start, self.block), whole)
            self._along(inner, envs, (start, stop), self.lanes)

        def rest(inner: Emitter, start: Index) -> None:
            self._along(inner, envs, (start, inner.plus(start, 1)), extent % self.lanes)

        emit.each(low, whole, self.block, block)
        if extent % self.lanes:
            tail = extent - extent % self.lanes
            emit.each(tail, high, self.lanes, rest)

    def _along(self, emit: Emitter, envs: Envs, across: tuple[Index, Index], filled: int) -> None:
        """The tiles of a block, whose lines are all used while they are in the nearest cache."""
        extent = self.sweep.extents[1]

        def tiles(inner: Emitter, along: Index, valid: int = self.lanes) -> None:
            def tile(deeper: Emitter, at: Index) -> None:
                self._tile(deeper, envs, (at, filled), (along, valid))

            inner.each(*across, self.lanes, tile)

        whole = extent - extent % self.lanes
        emit.each(0, whole, self.lanes, tiles)
        emit.each(whole, extent, self.lanes, partial(tiles, valid=extent % self.lanes))

    def _tile(
        self,
        emit: Emitter,
        envs: Envs,
        across: tuple[Index, int],
        along: tuple[Index, int],
    ) -> None:
        """One tile; each side is where it begins, and how many of its lines exist."""
        mask = self._mask(emit, along[1])
        turned: dict[Stage, dict[SSAValue, list[SSAValue]]] = {}
        for stage in self.sweep.stages:
            first, second = self.sweep.order[stage]
            arguments = self._arguments(stage)
            turned[stage] = {}
            for number in turned_reads(stage, first, second):
                access, argument = arguments[number]
                if self._forwarded(stage, access):
                    continue
                env = {**envs[stage], first: across[0], second: along[0]}
                turned[stage][argument] = self._turn(emit, access, env, second, across[1], along[1])
        for copy in range(across[1]):
            bound = self._bind(envs, 0, emit.plus(across[0], copy))
            self._fetch_straight(emit, bound, turned, along[0])
            prepared: dict[Stage, Body] = {}
            for stage in self.sweep.stages:
                prepared[stage] = self._prepare(emit, stage, bound[stage])
                for argument, rows in turned[stage].items():
                    prepared[stage].values[argument] = Lane(rows[copy], False)
            self._step(emit, bound, prepared, Vectors(along[0], 1, mask), [])

    def _fetch_straight(
        self,
        emit: Emitter,
        envs: Envs,
        turned: dict[Stage, dict[SSAValue, list[SSAValue]]],
        along: Index,
    ) -> None:
        """Fetch one row of a tile to come of each read that is not turned."""
        for stage in self.sweep.stages if self.ahead_tiles else ():
            second = self.sweep.order[stage][1]
            for access, argument in self._arguments(stage):
                straight = self.memory.layout(access).coefficient(second) == 1
                if straight and argument not in turned[stage] and access.pad is None:
                    later = emit.plus(along, self.ahead_tiles * self.lanes)
                    self._fetch(emit, access, {**envs[stage], second: later}, 0)

    def _fetch(self, emit: Emitter, access: Access, env: Env, offset: Index) -> None:
        if access.memory not in self.memory.scratch:
            at = emit.plus(self.memory.offset(emit, access, env, None), offset)
            flat = self.memory.flat[access.memory]
            emit.run(PrefetchOp(flat, [emit.value(at)], INTO_L2))

    def _mask(self, emit: Emitter, filled: int) -> SSAValue | None:
        if filled == self.lanes:
            return None
        return emit.first_lanes(filled, self.lanes)

    def _turn(
        self, emit: Emitter, access: Access, env: Env, along: int, width: int, count: int
    ) -> list[SSAValue]:
        """`count` vectors with `width` lanes each, turned; what does not exist is not read."""
        start = self.memory.offset(emit, access, env, None)
        step = self.memory.step(emit, access, along)
        flat = self.memory.flat[access.memory]
        mask = self._mask(emit, width)
        rows = [
            load(
                emit, Elements(flat, emit.plus(start, emit.times(step, i)), 1, self.lanes, mask)
            ).value
            for i in range(count)
        ]
        for i in range(count if self.ahead_tiles else 0):
            self._fetch(emit, access, env, emit.times(step, i + self.lanes))
        return turn(emit, rows + rows[:1] * (self.lanes - count))


def _mask(lanes: list[int]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, lanes)  # pyright: ignore[reportReturnType]


def turn(emit: Emitter, rows: list[SSAValue]) -> list[SSAValue]:
    """Transpose a square of vectors: lane j of row i becomes lane i of row j."""
    lanes = len(rows)
    kind = rows[0].type
    assert isinstance(kind, VectorType)
    step = 1
    while step < lanes:
        low = _mask([j if not j & step else j - step + lanes for j in range(lanes)])
        high = _mask([j + step if not j & step else j + lanes for j in range(lanes)])
        for i in range(lanes):
            if not i & step:
                pair = rows[i], rows[i + step]
                rows[i] = emit.add(vector.ShuffleOp(*pair, low, result_type=kind))
                rows[i + step] = emit.add(vector.ShuffleOp(*pair, high, result_type=kind))
        step *= 2
    return rows
