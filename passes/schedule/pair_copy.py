"""Copies of half floats into pairs for matrix tiles (see `pair_packing`), in registers.

What is written has rows of sixteen places with two summed elements each. Where these two are
neighbours in what is read, sixteen of its rows are turned, a pair at a time; where the sixteen
places are, two of its rows are mixed.
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    FloatAttr,
    VectorType,
    bf16,
    i32,
)
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import vector_load_op, vector_store_op
from lamina.dialects.loop.tiles import TILE_COLUMNS
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index, known_index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.strided_access import shuffled
from lamina.passes.schedule.transpose import turn

PAIR_ROW = 2 * TILE_COLUMNS


@record
class PairCopy:
    """What a nest that copies into pairs reads: its strides, and where that ends.

    `ends` has, for a padded read, the indices along which places and terms lie, and how many there
    are.
    """

    stage: Stage
    read: Access
    across: int
    """Elements from one place to the next."""
    along: int
    """Elements from one term of the sum to the next; one of both is 1."""
    ends: tuple[tuple[Linear, int], tuple[Linear, int]] | None

    @staticmethod
    def of(stage: Stage) -> PairCopy | None:
        """The copy that a stage is, or None."""
        extents, rank = stage.extents, len(stage.extents)
        if rank < 4 or extents[-2:] != (TILE_COLUMNS, 2) or not stage.is_pointwise:
            return None
        if len(stage.reads) != 1 or len(stage.writes) != 1 or stage.op.sources:
            return None
        if stage.op.yielded != (stage.op.block.args[0],):
            return None
        (read,), (write,) = stage.reads, stage.writes
        if not isinstance(read.element, BFloat16Type) or extents[-3] % TILE_COLUMNS:
            return None
        if write.offset.constant or [write.stride(d) for d in range(rank - 3, rank)] != [
            PAIR_ROW,
            2,
            1,
        ]:
            return None
        tile, pair, place, term = range(rank - 4, rank)
        across, along = read.stride(place), read.stride(term)
        apart = read.stride(tile) == TILE_COLUMNS * across and read.stride(pair) == 2 * along
        if not apart or 1 not in (across, along):
            return None
        if read.pad is None:
            return PairCopy(stage, read, across, along, None)
        ends: list[tuple[Linear, int]] = []
        for inner in (place, term):
            axes = [n for n, form in enumerate(read.axes) if form.coefficient(inner)]
            if len(axes) != 1:
                return None
            form = read.axes[axes[0]]
            if form.coefficient(inner) != 1 or form.range(extents)[0] < 0:
                return None
            ends.append((form, read.shape[axes[0]]))
        walked = [form for form, _ in ends]
        others = [
            (f, size) for f, size in zip(read.axes, read.shape, strict=True) if f not in walked
        ]
        ranges = [(*form.range(extents), size) for form, size in others]
        if any(low < 0 or high >= size for low, high, size in ranges):
            return None
        return PairCopy(stage, read, across, along, (ends[0], ends[1]))

    @property
    def pairs(self) -> int:
        """Pairs of each place."""
        return self.stage.extents[-3]

    def emit_slice(self, emit: Emitter, memory: Memory) -> bool:
        """Append what copies the slice that the nest runs, if it is whole vectors of one tile."""
        op, along = self.stage.op, len(self.stage.extents) - 3
        slices = list(zip(op.slices, map(known_index, op.symbols), strict=True))
        pairs = [(start, entry.size) for entry, start in slices if entry.dims == (along,)]
        outer = [(entry, start) for entry, start in slices if entry.dims != (along,)]
        if len(pairs) != 1 or any(entry.extended for entry, _ in outer):
            return False
        (first, size), dims = pairs[0], [d for entry, _ in outer for d in entry.dims]
        if sorted(dims) != list(range(along)) or size % TILE_COLUMNS:
            return False
        if emit.divisor(first, self.pairs) % size:
            return False
        env: Env = {}
        for entry, start in outer:
            position = emit.split(start, [op.extents[d] for d in entry.dims])
            env.update(zip(entry.dims, position, strict=True))

        def some(deeper: Emitter, pair: Index) -> None:
            emit_one = self._turn if self.along == 1 else self._mix
            emit_one(deeper, memory, env, pair)

        step = TILE_COLUMNS if self.along == 1 else 1
        emit.each(first, emit.plus(first, size), step, some)
        return True

    def _start(self, emit: Emitter, env: Env, pair: Index) -> tuple[Env, Index]:
        """The position of a pair, and the element with which it begins."""
        rank = len(self.stage.extents)
        position = {**env, rank - 3: pair, rank - 2: 0, rank - 1: 0}
        return position, emit.linear(self.read.offset, position)

    def _left(self, emit: Emitter, position: Env) -> tuple[Index, Index]:
        """Places and terms that there are from a position on; either may be negative."""
        assert self.ends is not None
        places, terms = (emit.minus(n, emit.linear(form, position)) for form, n in self.ends)
        return places, terms

    def _load(
        self, emit: Emitter, memory: Memory, at: Index, lanes: int, there: Index | None
    ) -> SSAValue:
        """Neighbouring elements, of which the first `there` exist; the others are zero."""
        flat, kind = memory.flat[self.read.memory], VectorType(bf16, [lanes])
        if there is None:
            return emit.add(vector_load_op(flat, emit.value(at), kind))
        mask = emit.first_lanes(there, lanes)
        zero = emit.splat(FloatAttr(0.0, bf16), lanes)
        return emit.add(vector.MaskedLoadOp(flat, [emit.value(at)], mask, zero, kind))

    def _write(self, emit: Emitter, memory: Memory, position: Env, row: SSAValue) -> None:
        write = self.stage.writes[0]
        at = emit.value(emit.linear(write.offset, position))
        emit.run(vector_store_op(row, memory.flat[write.memory], at))

    def _turn(self, emit: Emitter, memory: Memory, env: Env, pair: Index) -> None:
        """Sixteen pairs from `pair` on, of sixteen rows that are read along the sum."""
        position, start = self._start(emit, env, pair)
        words = VectorType(i32, [TILE_COLUMNS])
        rows: list[SSAValue] = []
        for place in range(TILE_COLUMNS):
            there = None
            if self.ends is not None:
                places, terms = self._left(emit, position)
                # Of a row that is not there, none; of others, at most a whole vector.
                there = emit.least(terms, emit.times(emit.minus(places, place), PAIR_ROW))
            at = emit.plus(start, place * self.across)
            row = self._load(emit, memory, at, PAIR_ROW, there)
            rows.append(emit.add(vector.BitcastOp(row, words)))
        rank = len(self.stage.extents)
        for number, row in enumerate(turn(emit, rows)):
            turned = emit.add(vector.BitcastOp(row, VectorType(bf16, [PAIR_ROW])))
            self._write(emit, memory, {**position, rank - 3: emit.plus(pair, number)}, turned)

    def _mix(self, emit: Emitter, memory: Memory, env: Env, pair: Index) -> None:
        """One pair of sixteen places, of two rows that are read across the sum."""
        position, start = self._start(emit, env, pair)
        rows: list[SSAValue] = []
        for term in (0, 1):
            there = None
            if self.ends is not None:
                places, terms = self._left(emit, position)
                there = emit.least(places, emit.times(emit.minus(terms, term), TILE_COLUMNS))
            at = emit.plus(start, term * self.along)
            rows.append(self._load(emit, memory, at, TILE_COLUMNS, there))
        order = [place + n * TILE_COLUMNS for place in range(TILE_COLUMNS) for n in (0, 1)]
        one, other = rows
        self._write(emit, memory, position, shuffled(emit, one, other, order))
