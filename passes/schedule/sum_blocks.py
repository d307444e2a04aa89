"""Loops of a product: its sum in blocks, so many terms for all tiles of a task, and its panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt, prod

from lamina.dialects.records import record
from lamina.passes.cost.product_limits import CHAIN, LONG_SUM, SUM_UNROLL
from lamina.passes.schedule.backward import each_backward
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env

AfterPanel = Callable[[Emitter, Env, Index, list[Index]], None]
"""What follows a panel of a product: the environment, the column where that begins, and where the
loops over rows in front of the last are."""


@record
class SumBlock:
    """So many terms of the sum from `low` on, and whether they are the first and the last ones."""

    low: Index
    count: int
    is_first: bool
    is_last: bool
    counted: Index | None = None
    """Of a block in which a call's terms may end: how many of these it has."""

    @property
    def taken(self) -> Index:
        """How many terms are added up."""
        return self.count if self.counted is None else self.counted


def chain_block(extent: int, length: int) -> int:
    """Positions of a summed dimension that get a sum of their own; 0 for all in one.

    Each position has `length` terms of inner dimensions. A short sum over long windows is divided
    too. Sums of more than the square of `CHAIN` terms have longer chains, as many as each is long.
    """
    terms = extent * length
    if 2 * terms <= 3 * CHAIN:
        return 1 if length >= LONG_SUM else 0
    chain = max(CHAIN, isqrt(terms))
    if length > 2 * chain:
        return 0  # the inner dimensions are divided
    wanted = max(1, chain // length)
    near = range(wanted * 4 // 3, wanted * 2 // 3, -1)
    divisors = [size for size in near if extent % size == 0]
    return next((size for size in divisors if size % SUM_UNROLL == 0), next(iter(divisors), wanted))


@record
class SumCut:
    """How a sum is taken in blocks: `count` positions of its dimension number `place` at a time,
    all of the dimensions behind that, at each position of those in front."""

    place: int
    count: int

    @staticmethod
    def of(extents: Sequence[int], terms: int) -> SumCut | None:
        """Blocks of so many terms, as they follow one another; None where they cut a dimension in
        unequal parts at each position of others."""
        for place in reversed(range(len(extents))):
            count, rest = divmod(terms, prod(extents[place + 1 :]))
            if rest == 0 and (
                place == 0 or (count <= extents[place] and extents[place] % count == 0)
            ):
                return SumCut(place, count)
        return None


def over_sum(
    emit: Emitter,
    extents: Sequence[int],
    cut: SumCut,
    block: Callable[[Emitter, list[Index], SumBlock], None],
) -> None:
    """Emit `block` for all blocks of a sum, at the position of the dimensions in front.

    The first one stands in front of a loop over the others, and the last one behind it.
    """
    outer, extent, size = extents[: cut.place], extents[cut.place], cut.count
    each = -(-extent // size)
    blocks = prod(outer) * each

    def at(inner: Emitter, number: Index) -> None:
        *point, place = inner.split(number, [*outer, each])
        low = inner.times(place, size)
        is_known = isinstance(number, int)
        count = min(size, extent - low) if isinstance(low, int) else size
        is_first, is_last = is_known and number == 0, is_known and number == blocks - 1
        block(inner, point, SumBlock(low, count, is_first=is_first, is_last=is_last))

    at(emit, 0)
    if blocks == 3:
        at(emit, 1)
    else:
        emit.each(1, blocks - 1, 1, at)
    if blocks > 1:
        at(emit, blocks - 1)


def over_sum_to(
    emit: Emitter,
    cut: SumCut,
    end: Index,
    block: Callable[[Emitter, list[Index], SumBlock], None],
) -> None:
    """The same of a dimension whose terms end at a number of the call.

    There are a first and a last block always; of a short sum the last one has no terms.
    """
    size, point = cut.count, [0] * cut.place
    blocks = emit.most(emit.quotient(emit.plus(end, size - 1), size), 1)

    def between(inner: Emitter, number: Index) -> None:
        whole = SumBlock(inner.times(number, size), size, is_first=False, is_last=False)
        block(inner, list(point), whole)

    first = emit.least(end, size)
    block(emit, list(point), SumBlock(0, size, is_first=True, is_last=False, counted=first))
    emit.each(1, emit.minus(blocks, 1), 1, between)
    low = emit.times(emit.most(emit.minus(blocks, 1), 1), size)  # behind all, if blocks = 1
    last = emit.minus(emit.most(low, end), low)
    block(emit, list(point), SumBlock(low, size, is_first=False, is_last=True, counted=last))


def over_panels(
    emit: Emitter,
    panels: tuple[Index, Index],
    whole: Index | None,
    panel: Callable[..., None],
    *,
    backward: bool = False,
) -> None:
    """Emit `panel` for a range of panels, from the last one on if `backward`; those from number
    `whole` on, if any, are `masked`."""
    first, last = panels
    masked = partial(panel, masked=True)
    parts: list[tuple[Index, Index, Callable[..., None]]] = [(first, last, panel)]
    if whole == 0:
        parts = [(first, last, masked)]
    elif whole is not None:
        stop = emit.least(last, whole)
        parts = [(first, stop, panel), (stop, last, masked)]
    for low, high, body in reversed(parts) if backward else parts:
        if backward:
            each_backward(emit, low, high, body)
        else:
            emit.each(low, high, 1, body)
