"""The first few of many short rows: each lane of a vector keeps those of a row of its own.

A key and its place are one number, so that of two no two are equal: the order is total, and putting
a number among those that are kept is a chain of maxima and minima, without a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, VectorType, f32, i32, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, load_op, store_op
from lamina.dialects.loop.vector_arith import IndexCastOp
from lamina.dialects.records import record
from lamina.passes.cost.unstructured_cost import MOST_KEPT
from lamina.passes.schedule.body import gather
from lamina.passes.schedule.emitter import INDEX, Emitter, Index
from lamina.passes.schedule.pairs import Keys, Pairs
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.words import place_of, word_of


@record
class TopOfRows:
    """How many numbers to keep of each row, from which end of the order, and which are wanted."""

    lanes: int
    length: int
    kept: int
    from_end: bool
    window: tuple[int, int]

    @staticmethod
    def of(length: int, window: tuple[int, int], lanes: int) -> TopOfRows:
        """For a window of rows of that length, so many rows at once."""
        start, count = window
        # A single element may be nearer to the end of the order.
        from_end = count == 1 and start > length - 1 - start
        kept = length - start if from_end else start + count
        return TopOfRows(lanes, length, kept, from_end, window)

    @staticmethod
    def fits(keys: SSAValue, length: int, window: tuple[int, int]) -> bool:
        """Whether keys and places are one number, and few enough are kept."""
        kind = keys.type
        assert isinstance(kind, MemRefType)
        kept = TopOfRows.of(length, window, 1).kept
        return kind.element_type in (f32, i32) and kept <= MOST_KEPT

    def emit(self, emit: Emitter, keys: Keys, results: Pairs) -> None:
        """The rows from `keys.base` on, as many as there are lanes; results of each in turn."""
        lengths = emit.splat(IntegerAttr(self.length, INDEX), self.lanes)
        rows = emit.add(arith.MuliOp(emit.lane_numbers(self.lanes), lengths))
        self._emit(emit, keys, results, rows, lambda e, lane: lane, self.length)

    def emit_rows(
        self, emit: Emitter, keys: Keys, results: Pairs, rows: Sequence[Index], end: Index
    ) -> None:
        """These rows up to `end`, one for each lane, of which several may be the same."""
        numbers = emit.add(alloca_op(i64, self.lanes))
        for lane, row in enumerate(rows):
            number = emit.add(arith.IndexCastOp(emit.value(row), i64))
            emit.run(store_op(number, numbers, [emit.value(lane)]))
        given = emit.add(vector.LoadOp(numbers, [emit.value(0)], VectorType(i64, [self.lanes])))
        places = emit.add(IndexCastOp(given, VectorType(INDEX, [self.lanes])))
        lengths = emit.splat(IntegerAttr(self.length, INDEX), self.lanes)
        rows_in_lanes = emit.add(arith.MuliOp(places, lengths))
        self._emit(
            emit, keys, results, rows_in_lanes, lambda e, lane: e.read_index(numbers, lane), end
        )

    def _emit(
        self,
        emit: Emitter,
        keys: Keys,
        results: Pairs,
        rows: SSAValue,
        row_of: Callable[[Emitter, Index], Index],
        end: Index,
    ) -> None:
        """`rows` are the first elements of the rows in lanes, `row_of` the row of a lane."""
        kind = VectorType(i64, [self.lanes])
        least = -(1 << 63)
        nothing = IntegerAttr(least if self.from_end else -least - 1, i64)
        starts = [emit.splat(nothing, self.lanes)] * self.kept

        def element(e: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
            number = self._number(e, keys, at, rows)
            kept: list[SSAValue] = []
            for old in state:
                large = e.add(arith.MaxSIOp(old, number))
                small = e.add(arith.MinSIOp(old, number))
                wanted, number = (large, small) if self.from_end else (small, large)
                kept.append(wanted)
            return kept

        made = emit.loop(0, end, 1, starts, element)
        start, count = self.window
        wanted = made[-1:] if self.from_end else made[start:]
        numbers = emit.add(alloca_op(i64, count * self.lanes))
        for number, value in enumerate(wanted):
            assert value.type == kind
            emit.run(vector.StoreOp(value, numbers, [emit.value(number * self.lanes)]))
        bounds: list[tuple[Index, Index]] = [(0, self.lanes), (0, emit.least(count, end))]

        def result(e: Emitter, at: list[Index]) -> None:
            lane, number = at
            where = e.value(e.plus(e.times(number, self.lanes), lane))
            found = e.add(load_op(numbers, [where]))
            offset = place_of(e, found)
            place = e.add(arith.IndexCastOp(offset, i64))
            row = row_of(e, lane)
            key = keys.key(e, e.plus(e.times(row, self.length), offset))
            results.store(e, e.plus(e.times(row, count), number), key, place)

        over_points(emit, bounds, result)

    def _number(self, emit: Emitter, keys: Keys, at: Index, rows: SSAValue) -> SSAValue:
        """The word of one element of each row."""
        base = emit.plus(keys.base, at)
        found = gather(emit, Elements(keys.memory, base, 0, self.lanes), rows)
        return word_of(emit, found, at, down=keys.down)
