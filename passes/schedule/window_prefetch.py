"""What windows read anew on a line to come, asked for while those of an earlier line are added up.

A register tile of a depthwise convolution reads a vector of channels at several pixels, whose lines
of the caches lie apart: no walk that the hardware foresees. Of the lines of the image that a window
covers, all but the last ones have been read for the line of results before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.prefetch import INTO_L2
from lamina.passes.schedule.stages import Access, Stage


@record
class WindowPrefetch:
    """A read of windows, and how many elements further it is asked for at which of their places."""

    read: Access
    distance: int
    summed: tuple[int, ...]
    """The dimensions of the window."""
    places: tuple[tuple[int, ...], ...]

    def emit(self, emit: Emitter, memory: Memory, env: Env) -> None:
        """Ask for what a vector of results needs that stands so far behind the one at `env`."""
        flat = memory.flat[self.read.memory]
        for place in self.places:
            at: dict[int, Index] = {**env, **dict(zip(self.summed, place, strict=True))}
            index = emit.plus(memory.offset(emit, self.read, at, None), self.distance)
            emit.run(PrefetchOp(flat, [emit.value(index)], INTO_L2))


def windows_ahead(
    stage: Stage, memory: Memory, pixel: int, column: int, lines: int
) -> list[WindowPrefetch]:
    """What a sum with vectors along `column`, jammed along the dimension `pixel`, reads anew so
    many lines further: of reads from outside of the kernel whose windows slide from row to row."""
    summed = tuple(d for d in stage.inner if d in stage.reduced and stage.extents[d] > 1)
    found: list[WindowPrefetch] = []
    for read in stage.reads:
        rows = [d for d in stage.rows if read.stride(d) and stage.extents[d] > 1]
        if not rows or read.memory in memory.scratch or read.pad is not None:
            continue
        down, along = (_sliding(read, dim, summed) for dim in (rows[-1], pixel))
        if read.stride(column) != 1 or down is None or not read.stride(pixel):
            continue
        walked: dict[int, range] = {}
        if along is not None:
            walked[along[0]] = range(min(along[1], stage.extents[along[0]]))
        last = stage.extents[down[0]]
        walked[down[0]] = range(max(0, last - down[1]), last)
        if walked.keys() == set(summed):
            places = tuple(product(*(walked[dim] for dim in summed)))
            found.append(WindowPrefetch(read, lines * read.stride(rows[-1]), summed, places))
    return found


def _sliding(read: Access, dim: int, summed: Sequence[int]) -> tuple[int, int] | None:
    """The summed dimension of the windows that slide along `dim`, and how many of its places are
    new from one position to the next; None if none does."""
    for form in read.axes:
        for other in summed:
            if (step := form.coefficient(dim)) and (each := form.coefficient(other)):
                return other, max(1, step // each)
    return None
