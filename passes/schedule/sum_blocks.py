"""Loops of a product: its sum in blocks, so many terms for all tiles of a task, and its panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
