"""What a task of whole rows keeps between its segments: the layout of each buffer, and its place.

A segment is a product, or stages that run row by row. What one segment makes for another stands in
scratch that spans the rows of the block. Buffers take turns: one that is made when another was read
for the last time takes its place, also row by row within a segment, as the exponentials of a row
of scores do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.records import record
from lamina.passes.cost.fusion_cost import element_bytes
from lamina.passes.cost.product_limits import APART, WAY_ELEMENTS
from lamina.passes.schedule.memory import Sweep
from lamina.passes.schedule.stages import Access, Stage, is_temporary
from lamina.passes.schedule.stream_plan import StreamPlan
from lamina.passes.schedule.sweeps import scheduled_sweeps

Segment = list[Stage]


@dataclass(eq=False)
class RowBuffer:
    """A temporary of a block of rows: the stride of each of its axes, and elements in a row."""

    write: Access
    writer: Stage
    made: int
    """The segment that writes it."""
    read: int
    """The last segment that reads it."""
    strides: dict[int, int]
    row: int
    place: int = -1

    @property
    def memory(self) -> SSAValue:
        """The memref as the nests name it."""
        return self.write.memory

    @property
    def element(self) -> Attribute:
        """Element type."""
        return self.write.element


@record
class BlockScratch:
    """Segments in order, their buffers, and for each place the element type and those of a row."""

    segments: tuple[Segment, ...]
    buffers: tuple[RowBuffer, ...]
    places: tuple[tuple[Attribute, int], ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of all places for one row of the block."""
        return sum(row * element_bytes(element) for element, row in self.places)


def plan_block(
    stages: Sequence[Stage],
    products: Mapping[Stage, Contraction],
    stream: StreamPlan | None = None,
) -> BlockScratch:
    """The scratch of a kernel whose tasks take blocks of whole rows, or `stream` along them."""
    segments = segments_of(stages, products, stream)
    if stream is None:
        buffers = _buffers(segments, products, {})
    else:
        buffers = _buffers(segments, products, stream.dims, stream.block)
        along = [n for n, segment in enumerate(segments) if segment[0] in stream.dims]
        _outlive_blocks(buffers, stream, along[0], along[-1])
    places: list[tuple[Attribute, int]] = []
    holders: list[RowBuffer] = []
    for buffer in buffers:
        for number, (element, _) in enumerate(places):
            holder = holders[number]
            if element == buffer.element and _may_follow(holder, buffer, segments, products):
                buffer.place = number
                break
        else:
            buffer.place = len(places)
            places.append((buffer.element, 0))
            holders.append(buffer)
        holders[buffer.place] = buffer
    for number in range(len(places)):
        sharing = [b for b in buffers if b.place == number]
        row = max(b.row for b in sharing)
        row += APART if row % WAY_ELEMENTS == 0 else 0
        places[number] = (places[number][0], row)
    return BlockScratch(tuple(segments), tuple(buffers), tuple(places))


def segments_of(
    stages: Sequence[Stage],
    products: Mapping[Stage, Contraction],
    stream: StreamPlan | None = None,
) -> list[Segment]:
    """The stages in segments: each product with what follows on its register tiles, and what stands
    between products together.

    What is walked in blocks stands in segments of its own.
    """
    if stream is not None:
        groups = (stream.before, stream.along, stream.after)
        return [segment for group in groups for segment in segments_of(group, products)]
    segments: list[Segment] = []
    for stage in stages:
        behind_product = bool(segments) and segments[-1][0] in products
        is_apart = behind_product and not stage.schedule.compute_with
        if stage in products or not segments or is_apart:
            segments.append([stage])
        else:
            segments[-1].append(stage)
    return segments


def _outlive_blocks(
    buffers: Sequence[RowBuffer], stream: StreamPlan, first: int, last: int
) -> None:
    """Segments `first` to `last` run again for each block: what they read or reduce stays."""
    for buffer in buffers:
        if buffer.made < first <= buffer.read:
            buffer.read = max(buffer.read, last)
        if buffer.writer in stream.joins:
            buffer.made = first
            buffer.read = max(buffer.read, last + 1)


def _buffers(
    segments: list[Segment],
    products: Mapping[Stage, Contraction],
    dims: Mapping[Stage, int],
    block: int = 0,
) -> list[RowBuffer]:
    """Temporaries that one segment writes and another reads, in the order they are made in.

    Of stages in `dims`, there is a block of positions along that dimension.
    """
    last: dict[SSAValue, int] = {}
    for number, segment in enumerate(segments):
        for stage in segment:
            last |= dict.fromkeys((*(r.memory for r in stage.reads), *stage.op.sources), number)
    found: list[RowBuffer] = []
    for number, segment in enumerate(segments):
        for stage in segment:
            for write in stage.writes:
                read = last.get(write.memory, number)
                if is_temporary(write.memory) and read > number:
                    streamed = (dims[stage], block) if stage in dims else None
                    strides, row = _layout(write, stage, products.get(stage), streamed)
                    found.append(RowBuffer(write, stage, number, read, strides, row))
    return found


def _layout(
    write: Access, stage: Stage, shape: Contraction | None, streamed: tuple[int, int] | None
) -> tuple[dict[int, int], int]:
    """Strides of the axes that lie within a row, and its elements: whole panels of a product."""
    strides: dict[int, int] = {}
    step = 1
    row_dims = set(stage.rows)
    for axis in reversed(range(len(write.axes))):
        if {d for d, _ in write.axes[axis].terms} - row_dims:
            strides[axis] = step
            extent = write.shape[axis]
            if streamed is not None and write.axes[axis].coefficient(streamed[0]):
                extent = streamed[1]
            if step == 1 and shape is not None and shape.panel:
                extent = -(-extent // shape.panel) * shape.panel
            step *= extent
    return strides, step


def _may_follow(
    old: RowBuffer,
    new: RowBuffer,
    segments: list[Segment],
    products: Mapping[Stage, Contraction],
) -> bool:
    """Whether `new` may take the place of `old`: nobody reads that any more when it is written."""
    if old.read != new.made or old.made == new.made:
        return old.read < new.made
    segment = segments[new.made]
    if new.writer not in segment or segment[0] in products:
        return False  # a product reads its operand again for each panel
    sweeps = scheduled_sweeps(segment)
    if any(sweep.followers for sweep in sweeps):
        return False
    own = next(n for n, sweep in enumerate(sweeps) if new.writer in sweep.stages)
    if any(_reads(s, old) for sweep in sweeps[own + 1 :] for s in sweep.stages):
        return False
    return all(_at_same_point(sweeps[own], s, old, new) for s in sweeps[own].stages)


def _reads(stage: Stage, buffer: RowBuffer) -> bool:
    memories = (*(r.memory for r in stage.reads), *stage.op.sources)
    return buffer.memory in memories


def _at_same_point(sweep: Sweep, reader: Stage, old: RowBuffer, new: RowBuffer) -> bool:
    """Whether what a stage reads of `old` stands where the sweep then writes `new`, in each row."""
    if not _reads(reader, old):
        return True
    if old.memory in reader.op.sources or not reader.is_pointwise or not new.writer.is_pointwise:
        return False
    if sweep.stages.index(reader) > sweep.stages.index(new.writer):
        return False  # it is overwritten by then
    written = _steps(sweep, new.writer, new.write, new.strides)
    reads = [r for r in reader.reads if r.memory is old.memory]
    return all(r.pad is None and _steps(sweep, reader, r, old.strides) == written for r in reads)


def _steps(
    sweep: Sweep, stage: Stage, access: Access, strides: Mapping[int, int]
) -> tuple[list[int], int]:
    """Elements from one position to the next along each dimension of the sweep, and the first."""
    forms = [(form, strides.get(axis, 0)) for axis, form in enumerate(access.axes)]
    steps = [sum(f.coefficient(d) * step for f, step in forms) for d in sweep.order[stage]]
    return steps, sum(f.constant * step for f, step in forms)


__all__ = ["BlockScratch", "RowBuffer", "plan_block"]
