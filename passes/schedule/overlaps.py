"""Loops over windows that overlap where several positions are computed side by side."""

from __future__ import annotations

from math import gcd

from lamina.passes.cost.sweep_limits import MOST_UNROLLED
from lamina.passes.schedule.stages import Access, Stage


def overlapping_dims(stage: Stage, column: int, copies: int) -> tuple[int, ...] | None:
    """The reduced dimension whose positions make neighbours along the jammed one read the same, as
    `unroll_dims`; None if there is none, or if a tile of so many copies would become too long.

    Line 3 of a window at line 2 is line 2 of the one at line 3. Only vectors that begin anywhere
    are worth it, as windows slide along `column` too: each is in two lines of the cache. Others
    cost no more than the multiplication that they feed (MobileNetV2, EfficientNet-B0 and ConvNeXt
    take 0.99 to 1.01 of the time with it, a thread of a Zen 4).
    """
    jam = stage.schedule.jam
    if jam is None or jam.count < 2:
        return None
    reduced = [d for d in stage.inner if d in stage.reduced and stage.extents[d] > 1]
    slid = [r for r in stage.reads if _slides(r, column, reduced)]
    found = [d for d in reduced if any(_overlaps(stage, r, jam.dim, d) for r in slid)]
    if len(found) != 1 or copies * stage.extents[found[0]] > MOST_UNROLLED:
        return None
    return (found[0],)


def _slides(read: Access, column: int, reduced: list[int]) -> bool:
    """Whether vectors of a read along `column` begin where a reduced dimension says."""
    return read.stride(column) == 1 and any(
        form.coefficient(column) and any(form.coefficient(d) for d in reduced) for form in read.axes
    )


def _overlaps(stage: Stage, read: Access, dim: int, reduced: int) -> bool:
    """Whether an element is read at several positions of `dim`, at others of `reduced`."""
    for form in read.axes:
        step, within = abs(form.coefficient(dim)), abs(form.coefficient(reduced))
        if step and within and stage.extents[reduced] > step // gcd(step, within):
            return True
    return False
