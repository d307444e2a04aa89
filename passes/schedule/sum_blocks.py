"""Loops of a product: its sum in blocks, so many terms for all tiles of a task, and its panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt

from lamina.passes.cost.product_limits import CHAIN, LONG_SUM, SUM_UNROLL
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env

AfterPanel = Callable[[Emitter, Env, Index], None]
"""What follows a panel of a product, at the environment and the column where that begins."""


@dataclass(frozen=True)
class SumBlock:
    """So many terms of the sum from `low` on, and whether they are the first and the last ones."""

    low: Index
    count: int
    is_first: bool
    is_last: bool


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


def over_sum(
    emit: Emitter,
    extent: int,
    size: int,
    block: Callable[[Emitter, SumBlock], None],
) -> None:
    """Emit `block` for blocks of `size` of all `extent` terms.

    The first one stands in front of a loop over the others, and the last one behind it.
    """
    looped = (extent - 1) // size

    def body(inner: Emitter, number: Index) -> None:
        low = inner.times(number, size)
        block(inner, SumBlock(low, size, is_first=False, is_last=False))

    block(emit, SumBlock(0, min(size, extent), is_first=True, is_last=looped == 0))
    emit.each(1, looped, 1, body)
    low = looped * size
    if 0 < low < extent:
        block(emit, SumBlock(low, extent - low, is_first=False, is_last=True))


def over_panels(
    emit: Emitter, panels: tuple[Index, Index], whole: int | None, panel: Callable[..., None]
) -> None:
    """Emit `panel` for a range of panels; those from number `whole` on, if any, are `masked`."""
    first, last = panels
    if whole is None:
        emit.each(first, last, 1, panel)
        return
    stop = emit.least(last, whole)
    emit.each(first, stop, 1, panel)
    emit.each(stop, last, 1, partial(panel, masked=True))
