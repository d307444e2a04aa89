"""Stages between products that run for a block of rows at once: sums jammed along them, and copies
that are turned.

A depthwise convolution in front of a product, row by row, reads its weights again for each pixel.
Jammed along the row that blocks divide, pixels of a line share them, and have as many totals side
by side as hide the latency of an addition. What a stage hands on to the next one then is a block.
Where rows lie side by side in what a pointwise stage reads, squares of them are turned in
registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.loop_ends import end_loops
from lamina.passes.schedule.memory import Envs, Memory
from lamina.passes.schedule.packed_product import Blocks
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import (
    FIRST_WINDOW,
    allocate_scratch,
    column_windows,
    scheduled_sweeps,
)


def jams_rows(segment: Sequence[Stage]) -> bool:
    """Whether a stage is jammed along the last row of the kernel, which blocks divide."""
    jams = ((stage, stage.schedule.jam) for stage in segment)
    return any(jam is not None and jam.dim in stage.rows[-1:] for stage, jam in jams)


def turns_rows(segment: Sequence[Stage]) -> bool:
    """Whether a stage reads or writes along the last row of the kernel, in squares that are
    turned."""
    return any(s.schedule.transpose in s.rows[-1:] or _runs_along_rows(s) for s in segment)


def _runs_along_rows(stage: Stage) -> bool:
    """Whether vectors of a stage run along the last row of the kernel, and its columns lie side by
    side in what it reads."""
    vectors = stage.schedule.vectorize
    turned = stage.schedule.transpose is not None and vectors is not None
    return turned and vectors is not None and vectors.dim in stage.rows[-1:]


def runs_in_block(segment: Sequence[Stage]) -> bool:
    """Whether a segment runs for all rows of a block at once."""
    return jams_rows(segment) or turns_rows(segment)


def with_row_inside(stage: Stage) -> Stage:
    """A copy whose first loop is the last row of the kernel, or its last one if vectors run along
    that in squares that are turned."""
    rows, inner = stage.rows[:-1], (stage.rows[-1], *stage.inner)
    return replace(stage, rows=rows, inner=row_last(inner) if _runs_along_rows(stage) else inner)


def row_last(inner: tuple[int, ...]) -> tuple[int, ...]:
    """Loops, of which the first one goes along rows, with that one as the last."""
    return (*inner[1:], inner[0])


@record
class JammedBlock:
    """A segment of a task that runs for all rows of its block."""

    segment: Sequence[Stage]
    memory: Memory
    outputs: set[SSAValue]
    blocks: Blocks
    scratch: BlockScratch | None

    def emit(
        self, emit: Emitter, envs: Envs, rows: tuple[Index, Index], *, divided: bool = False
    ) -> None:
        """Append the loops of a task that is at `envs`, for `rows` of it.

        Raises InputError where blocks may have fewer rows than are jammed, or the segment is
        `divided` along another dimension.
        """
        self._verify(divided=divided)
        copies = {with_row_inside(stage): stage for stage in self.segment}
        sweeps = scheduled_sweeps(list(copies))
        memory = self.block_memory()
        if turns_rows(self.segment):
            end_loops(sweeps, memory)
            for sweep in sweeps:  # blocks begin and end at any row
                place = sweep.order[sweep.stages[0]].index(copies[sweep.stages[0]].rows[-1])
                memory.ends[sweep] = {place: (), **memory.ends.get(sweep, {})}
        windows = column_windows(list(copies), self.blocks.size)
        allocate_scratch(emit, sweeps, memory, self.outputs, windows)
        own = {copy: {**envs[stage], FIRST_WINDOW: rows[0]} for copy, stage in copies.items()}
        bounds = {sweep: {copies[sweep.stages[0]].rows[-1]: rows} for sweep in sweeps}
        RowSegment(sweeps, memory, self.outputs).run(emit, own, bounds)

    def _verify(self, *, divided: bool) -> None:
        if turns_rows(self.segment) and (divided or not self.blocks.is_blocked):
            legal = "only where each block has all columns that it may have"
            raise illegal(self.segment[0].op, f"transpose: {legal}")
        for stage in self.segment:
            jam = stage.schedule.jam
            if jam is None:
                continue
            if divided or not self.blocks.is_blocked or self.blocks.live:
                legal = "only where each block has all rows and columns that it may have"
                raise illegal(stage.op, f"jam = d{jam.dim}: {legal}")
            if jam.dim in stage.rows and jam.count > self.blocks.fewest:
                reason = f"a block may have {self.blocks.fewest} rows only"
                raise illegal(stage.op, f"jam = d{jam.dim} x {jam.count}: {reason}")
        if not can_run_in_block(self.segment):
            raise illegal(self.segment[0].op, "what the block keeps has no axis for its rows")

    def block_memory(self) -> Memory:
        """Where the stages find what spans a block: by its row, not by the number within it."""
        buffers = self.scratch.buffers if self.scratch is not None else ()
        axes = {b.memory: row_axis(b.writer, b.memory) for b in buffers}
        return by_row(self.memory, axes)


def by_row(memory: Memory, axes: Mapping[SSAValue, int | None]) -> Memory:
    """Where stages that have the rows of a block as a loop find scratch that spans it: by the row,
    which is that axis of the buffer, not by the number within the block."""
    found = replace(
        memory,
        scratch=dict(memory.scratch),
        shift=dict(memory.shift),
        local_row=dict(memory.local_row),
    )
    for buffer, axis in axes.items():
        pitch = found.local_row.pop(buffer, None)
        if pitch is None or axis is None:
            continue
        found.scratch[buffer] = {**found.scratch[buffer], axis: pitch}
        shift = found.shift.get(buffer, Linear(()))
        found.shift[buffer] = shift.add(Linear(((FIRST_WINDOW, -pitch),)))
    return found


def can_run_in_block(segment: Sequence[Stage]) -> bool:
    """Whether all that stages hand on has an axis for the row that blocks divide."""
    return all(
        row_axis(stage, write.memory) is not None for stage in segment for write in stage.writes
    )


def row_axis(stage: Stage, memory: SSAValue) -> int | None:
    """The axis of what a stage writes that is the last row of the kernel, if one is."""
    write = next(w for w in stage.writes if w.memory is memory)
    axes = (axis for axis, form in enumerate(write.axes) if form.pure_dim == stage.rows[-1])
    return next(axes, None)
