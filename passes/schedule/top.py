"""The first few of each row: kept in order while the row is read once.

The last of those that are kept is the threshold: what does not go before it is passed over, a block
of vectors at a time. Of elements in no order, few go before it once a part of the row is read.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
    Signedness,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, store_op
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.records import record
from lamina.passes.cost.unstructured_cost import COMPARED_VECTORS
from lamina.passes.schedule.body import vector_reduce
from lamina.passes.schedule.compare import compare, element_of
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.pairs import Keys, Pairs, SortedRow, goes_first


def emit_top(emit: Emitter, row: SortedRow) -> None:
    """Put the first elements of the sorted row, as many as are wanted, into the results."""
    cell = emit.add(alloca_op(i64, 1))
    _Top(row.keys, row.results, row.wanted, row.lanes, cell).run(emit, row.end)


@record
class _Top:
    """Loops carry the threshold: the last of the kept elements."""

    keys: Keys
    kept: Pairs
    count: Index
    lanes: int
    cell: SSAValue
    """Memory of one number: loops by a condition carry no values."""

    def run(self, emit: Emitter, length: Index) -> None:
        """So many elements, from the first on."""
        state = [self.keys.key(emit, 0)]
        block = COMPARED_VECTORS * self.lanes
        whole = whole_blocks(emit, length, block) if self.lanes > 1 else 0

        def blocks(e: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            return self._block(e, e.value(at), block, values)

        state = emit.loop(0, whole, block, state, blocks)
        emit.loop(whole, length, 1, state, self._element)

    def _block(
        self, emit: Emitter, at: SSAValue, block: int, state: list[SSAValue]
    ) -> list[SSAValue]:
        """Elements one by one if any goes first, or if the first ones are still to be read."""

        def one_by_one(e: Emitter) -> list[SSAValue]:
            return e.loop(at, e.plus(at, block), 1, state, self._element)

        early = self._is_early(emit, at)
        any_first = any_before(emit, self.keys, at, state[0], self.lanes)
        goes = emit.add(arith.OrIOp(early, any_first))
        return emit.branch(goes, one_by_one, lambda _: state)

    def _is_early(self, emit: Emitter, at: SSAValue) -> SSAValue:
        return emit.add(compare_op(at, emit.value(self.count), "ult"))

    def _element(self, emit: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
        """Among the kept ones if it goes before the threshold; the first ones do in any case."""
        here = emit.value(at)
        key, place = self.keys.load(emit, here)

        def insert(e: Emitter) -> list[SSAValue]:
            last = e.least(here, e.minus(self.count, 1))
            self.kept.store(e, self._make_room(e, key, e.value(last)), key, place)
            return [self.kept.load(e, e.minus(self.count, 1))[0]]

        goes = goes_first(emit, key, state[0], self.keys.down)
        goes = emit.add(arith.OrIOp(self._is_early(emit, here), goes))
        return emit.branch(goes, insert, lambda _: state)

    def _make_room(self, emit: Emitter, key: SSAValue, last: SSAValue) -> SSAValue:
        """Moves what `key` goes before one place on, over the one at `last`; gives its place."""
        self._set_place(emit, last)
        before, after = Block(), Block()
        looking, moving = emit.inside(before), emit.inside(after)
        place = self._place(looking)
        is_inside = looking.add(compare_op(place, looking.value(0), "ugt"))
        previous = looking.add(arith.SubiOp(place, looking.value(1)))
        safe = looking.add(arith.MaxSIOp(previous, looking.value(0)))
        goes = goes_first(looking, key, self.kept.load(looking, safe)[0], self.keys.down)
        looking.run(scf.ConditionOp(looking.add(arith.AndIOp(is_inside, goes))))
        place = self._place(moving)
        previous = moving.add(arith.SubiOp(place, moving.value(1)))
        self.kept.store(moving, place, *self.kept.load(moving, previous))
        self._set_place(moving, previous)
        moving.run(scf.YieldOp())
        emit.run(scf.WhileOp([], [], Region(before), Region(after)))
        return self._place(emit)

    def _place(self, emit: Emitter) -> SSAValue:
        return emit.read_index(self.cell)

    def _set_place(self, emit: Emitter, place: SSAValue) -> None:
        number = emit.add(arith.IndexCastOp(place, i64))
        emit.run(store_op(number, self.cell, [emit.value(0)]))


def whole_blocks(emit: Emitter, length: Index, block: int) -> Index:
    """Where the last whole block of so many elements ends."""
    return emit.times(emit.quotient(length, block), block)


def any_before(
    emit: Emitter, keys: Keys, at: Index, limit: SSAValue, lanes: int, *, equal: bool = False
) -> SSAValue:
    """Whether an element of the block of vectors at `at` may go before the key `limit`, or be
    `equal` to it; NaN always may."""
    kind = VectorType(limit.type, [lanes])
    limits = emit.add(vector.BroadcastOp(limit, kind))
    found: SSAValue | None = None
    for number in range(COMPARED_VECTORS):
        where = emit.value(emit.plus(keys.base, emit.plus(at, number * lanes)))
        values = emit.add(vector.LoadOp(keys.memory, [where], kind))
        goes = before(emit, values, limits, keys.down, equal=equal)
        found = goes if found is None else emit.add(arith.OrIOp(found, goes))
    assert found is not None
    return emit.add(vector_reduce(found, "or"))


def before(
    emit: Emitter, values: SSAValue, limits: SSAValue, down: bool, *, equal: bool
) -> SSAValue:
    """Lane by lane, or of two scalars; true where a float is NaN."""
    direction = ("g" if down else "l") + ("e" if equal else "t")
    is_float = isinstance(element_of(values.type), AnyFloat)
    return compare(emit, values, limits, f"{'u' if is_float else 's'}{direction}")


def has_vectors(kind: Attribute) -> TypeGuard[AnyFloat | IntegerType]:
    """Whether elements of this type are compared as vectors: floats and signed integers."""
    if isinstance(kind, IntegerType):
        return kind != i1 and kind.signedness.data == Signedness.SIGNLESS
    return isinstance(kind, AnyFloat)
