"""Pointwise nests that read along another dimension than they write: register-tile transposes.

A square tile of vectors is loaded along the dimension that is contiguous in the source and turned
in registers by log2(lanes) rounds of two-input shuffles, so that both sides move whole vectors.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, SSAValue

from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.loop.segments import array64
from lamina.dialects.plain_ops import plain_op
from lamina.passes.schedule.body import Body, Lane, load
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.guarded_reads import end_of_lines
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

    A range of `across` begins at a whole tile, and ends at one or at the end of the dimension, or
    where what counts ends. How many lines of a tile exist may be a number of the call.
    """

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, outputs)
        schedule = sweep.schedule
        self.ahead_tiles = schedule.prefetch_tiles or 0
        self.block = sweep.extents[0] if schedule.tile is None else schedule.tile.count

    def run(self, emit: Emitter, envs: Envs, ranges: list[tuple[Index, Index]]) -> None:
        """Emit the tiles of the ranges."""
        (low, high), along = ranges
        whole, tail, filled = self._tiled(emit, 0, (low, high))

        def block(inner: Emitter, start: Index) -> None:
            stop = inner.least(inner.plus(start, self.block), whole)
            self._along(inner, envs, (start, stop), self.lanes, along)

        def rest(inner: Emitter, start: Index) -> None:
            self._along(inner, envs, (start, inner.plus(start, 1)), filled, along)

        emit.each(low, whole, self.block, block)
        if filled != 0:
            emit.each(tail, high, self.lanes, rest)

    def _tiled(
        self, emit: Emitter, place: int, bounds: tuple[Index, Index]
    ) -> tuple[Index, Index, Index]:
        """Where the whole tiles of a range end, where the last one begins if it is not whole, and
        how many of its lines exist: 0 if there is none."""
        low, high = bounds
        if place not in self.memory.ends.get(self.sweep, {}):
            filled = self.sweep.extents[place] % self.lanes
            tail = self.sweep.extents[place] - filled
            return emit.least(high, tail), tail, filled
        length = emit.minus(high, low)
        whole = emit.plus(low, emit.times(emit.quotient(length, self.lanes), self.lanes))
        return whole, whole, emit.minus(high, whole)

    def _along(
        self,
        emit: Emitter,
        envs: Envs,
        across: tuple[Index, Index],
        filled: Index,
        along: tuple[Index, Index],
    ) -> None:
        """The tiles of a block, whose lines are all used while they are in the nearest cache."""

        def tiles(inner: Emitter, start: Index, valid: Index = self.lanes) -> None:
            def tile(deeper: Emitter, at: Index) -> None:
                self._tile(deeper, envs, (at, filled), (start, valid))

            inner.each(*across, self.lanes, tile)

        whole, tail, rest = self._tiled(emit, 1, along)
        emit.each(along[0], whole, self.lanes, tiles)
        if rest != 0:
            emit.each(tail, along[1], self.lanes, partial(tiles, valid=rest))

    def _tile(
        self,
        emit: Emitter,
        envs: Envs,
        across: tuple[Index, Index],
        along: tuple[Index, Index],
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
                lines = end_of_lines(emit, stage, number, env, self.memory)
                turned[stage][argument] = self._turn(
                    emit, access, env, second, across[1], along[1], lines
                )
        lines = across[1]
        for copy in range(lines if isinstance(lines, int) else self.lanes):
            into = emit if isinstance(lines, int) else emit.inside(Block())
            bound = self._bind(envs, 0, into.plus(across[0], copy))
            self._fetch_straight(into, bound, turned, along[0])
            prepared: dict[Stage, Body] = {}
            for stage in self.sweep.stages:
                prepared[stage] = self._prepare(into, stage, bound[stage])
                for argument, rows in turned[stage].items():
                    prepared[stage].values[argument] = Lane(rows[copy], False)
            self._step(into, bound, prepared, Vectors(along[0], 1, mask), [])
            if not isinstance(lines, int):
                into.run(scf.YieldOp())
                exists = compare(emit, emit.value(copy), lines, "slt")
                emit.run(scf.IfOp(exists, [], [into.block]))

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

    def _mask(self, emit: Emitter, filled: Index) -> SSAValue | None:
        if isinstance(filled, int) and filled == self.lanes:
            return None
        return emit.first_lanes(filled, self.lanes)

    def _turn(
        self,
        emit: Emitter,
        access: Access,
        env: Env,
        along: int,
        width: Index,
        count: Index,
        there: Index | None = None,
    ) -> list[SSAValue]:
        """`count` vectors with `width` lanes each, turned; what does not exist is not read.

        Of these only so many are `there`, if that is said; there may be none but in front.
        """
        start = self.memory.offset(emit, access, env, None)
        step = self.memory.step(emit, access, along)
        flat = self.memory.flat[access.memory]
        mask = self._mask(emit, width)
        known = count if isinstance(count, int) else self.lanes
        last = None if there is None else emit.minus(there, 1)
        rows: list[SSAValue] = []
        for i in range(known):
            # In the place of one that may not exist the last one is read again.
            line = i if isinstance(count, int) else emit.least(i, emit.minus(count, 1))
            line = line if last is None else emit.least(line, last)
            at = emit.plus(start, emit.times(line, step))
            rows.append(load(emit, Elements(flat, at, 1, self.lanes, mask)).value)
        for i in range(known if self.ahead_tiles else 0):
            self._fetch(emit, access, env, emit.times(step, i + self.lanes))
        return turn(emit, rows + rows[:1] * (self.lanes - known))


def _mask(*lanes: int) -> dict[str, Attribute]:
    return {"mask": array64(*lanes)}


def turn(emit: Emitter, rows: list[SSAValue]) -> list[SSAValue]:
    """Transpose a square of vectors: lane j of row i becomes lane i of row j."""
    lanes = len(rows)
    kind = rows[0].type
    assert isinstance(kind, VectorType)
    step = 1
    while step < lanes:
        low = _mask(*(j if not j & step else j - step + lanes for j in range(lanes)))
        high = _mask(*(j + step if not j & step else j + lanes for j in range(lanes)))
        for i in range(lanes):
            if not i & step:
                pair = rows[i], rows[i + step]
                rows[i] = emit.add(plain_op(vector.ShuffleOp, pair, (kind,), low))
                rows[i + step] = emit.add(plain_op(vector.ShuffleOp, pair, (kind,), high))
        step *= 2
    return rows
