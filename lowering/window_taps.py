"""Which places of a sliding window ever meet the image: windows may be far larger than it."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.dialects.records import record
from lamina.dialects.sizes import UndecidedSizeError


@record
class Taps:
    """The places `first .. first + count - 1` of a window in one dimension."""

    first: int
    count: int


def taps_inside(
    extent: int, out: int, window: int, stride: int, padding: int, dilation: int
) -> Taps:
    """The places k of a window with `0 <= o * stride + k * dilation - padding < extent` for an o.

    o is the number of the window, below `out`. The others read nothing but border in every window.
    At least one place is left, so that no domain gets empty; all are where the extents are sizes
    that do not tell, as what lies in the border may be read, too.
    """
    try:
        return _inside(extent, out, window, stride, padding, dilation)
    except UndecidedSizeError:
        return Taps(0, window)


def _inside(extent: int, out: int, window: int, stride: int, padding: int, dilation: int) -> Taps:
    first = max(0, -(-(padding - max(0, out - 1) * stride) // dilation))
    last = min(window - 1, (extent - 1 + padding) // dilation)
    first = min(first, window - 1)
    return Taps(first, max(1, last - first + 1))


def clipped(
    extents: Sequence[int],
    out: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[list[int], list[int]]:
    """The extents of the window without what never meets the image, and the padding then.

    All arguments are of the spatial dimensions. The padding may become negative: windows then
    start inside the image.
    """
    dims = zip(extents, out, window, stride, padding, dilation, strict=True)
    taps = [taps_inside(*numbers) for numbers in dims]
    starts = [p - t.first * d for p, t, d in zip(padding, taps, dilation, strict=True)]
    return [t.count for t in taps], starts
