"""Elements of a row that may go before a limit, moved together in their order."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, i32, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.compress import CompressOp
from lamina.dialects.loop.vector_arith import ExtSIOp, ExtUIOp
from lamina.passes.schedule.body import broadcast, vector_reduce
from lamina.passes.schedule.emitter import INDEX, Emitter, Index
from lamina.passes.schedule.pairs import Keys, Pairs
from lamina.passes.schedule.top import before, whole_blocks


def compress(
    emit: Emitter, keys: Keys, to: Pairs, length: Index, limit: SSAValue, lanes: int
) -> SSAValue:
    """How many elements of a row go before the key `limit`, or are equal to it, or NaN.

    They and their positions are put where `to` says, in order; what stands there behind them, as
    far as the row is long, is written over.
    """
    whole = whole_blocks(emit, length, lanes)
    numbers = emit.lane_numbers(lanes, i32)
    limits = emit.add(vector.BroadcastOp(limit, VectorType(limit.type, [lanes])))
    places = VectorType(i64, [lanes])

    def some(e: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
        [filled] = state
        where = [e.value(e.plus(keys.base, at))]
        values = e.add(vector.LoadOp(keys.memory, where, VectorType(limit.type, [lanes])))
        mask = before(e, values, limits, keys.down, equal=True)
        position = broadcast(e, e.add(arith.IndexCastOp(e.value(at), i64)), lanes)
        offsets = e.add(ExtSIOp(e.add(CompressOp(numbers, mask)), places))
        to_at = [e.value(e.plus(to.base, filled))]
        e.run(vector.StoreOp(e.add(CompressOp(values, mask)), to.keys, to_at))
        e.run(vector.StoreOp(e.add(arith.AddiOp(offsets, position)), to.places, to_at))
        ones = e.add(ExtUIOp(mask, numbers.type))
        count = e.add(arith.IndexCastOp(e.add(vector_reduce(ones, "add")), INDEX))
        return [e.add(arith.AddiOp(filled, count))]

    def one(e: Emitter, at: Index, state: list[SSAValue]) -> list[SSAValue]:
        key, place = keys.load(e, at)

        def take(inner: Emitter) -> list[SSAValue]:
            to.store(inner, state[0], key, place)
            return [inner.add(arith.AddiOp(state[0], inner.value(1)))]

        return e.branch(before(e, key, limit, keys.down, equal=True), take, lambda _: state)

    [filled] = emit.loop(0, whole, lanes, [emit.value(0)], some)
    return emit.loop(whole, length, 1, [filled], one)[0]


__all__ = ["compress"]
