"""Elements of a row by their ranks: how many others go before each of them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.pairs import SortedRow, goes_first
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.words import WordVectors, numbers_in, pack_words


def emit_by_rank(emit: Emitter, row: SortedRow) -> None:
    """Put elements `start` to `start + count` of the sorted row into the results."""
    keys, length, start, count = row.keys, row.end, row.window[0], row.wanted

    def put(e: Emitter, rank: SSAValue, key: SSAValue, place: SSAValue) -> None:
        shifted = e.value(e.minus(rank, start))
        wanted = e.add(compare_op(shifted, e.value(count), "ult"))
        e.branch(wanted, lambda then: row.results.store(then, shifted, key, place))

    def element(e: Emitter, at: list[Index]) -> None:
        here = e.value(at[0])
        key, place = keys.load(e, here)
        put(e, emit_rank(e, keys.key, here, key, (0, length), keys.down), key, place)

    def put_number(first: Index, e: Emitter, rank: SSAValue, values: tuple[SSAValue, ...]) -> None:
        put(e, rank, *keys.load(e, numbers.place(e, values)))

    if row.lanes == 1:
        over_points(emit, [(0, length)], element)
        return
    numbers = numbers_in(row.work, row.kind)
    pack_words(emit, keys.load, numbers, length, down=keys.down)
    ranked = WordVectors.of(emit, row.lanes, row.vectors)
    ranked.rank(emit, numbers, length, lambda e, first: (0, length), put_number)


def emit_rank(
    emit: Emitter,
    key_at: Callable[[Emitter, Index], SSAValue],
    here: SSAValue,
    key: SSAValue,
    bounds: tuple[Index, Index],
    down: bool,
) -> SSAValue:
    """The place in order of the element `here`, whose key is `key`, among those in `bounds`."""

    def not_behind(e: Emitter, other: Index, ranks: list[SSAValue]) -> list[SSAValue]:
        later = goes_first(e, key, key_at(e, other), down)
        less = e.add(arith.SubiOp(ranks[0], e.value(1)))
        return [e.add(select_op(later, less, ranks[0]))]

    def before(e: Emitter, other: Index, ranks: list[SSAValue]) -> list[SSAValue]:
        sooner = goes_first(e, key_at(e, other), key, down)
        more = e.add(arith.AddiOp(ranks[0], e.value(1)))
        return [e.add(select_op(sooner, more, ranks[0]))]

    # All that stand earlier go before it, but for those that it goes before.
    ranks = emit.loop(bounds[0], here, 1, [here], not_behind)
    [rank] = emit.loop(emit.plus(here, 1), bounds[1], 1, ranks, before)
    return rank
