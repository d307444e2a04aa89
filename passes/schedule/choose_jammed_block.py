"""Which nests in front of a product run for a block of its rows at once, and what they fetch."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import MemRefType

from lamina.codegen.target import Target
from lamina.dialects.records import record
from lamina.passes.cost.sweep_limits import FAR_IMAGE, LINES_AHEAD
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.choose_sweeps import (
    SweepSurroundings,
    choose_sweeps,
    decide,
    group_sweeps,
    transposed_dim,
    widest_bits,
)
from lamina.passes.schedule.jammed_block import (
    JammedBlock,
    can_run_in_block,
    row_last,
    turns_rows,
    with_row_inside,
)
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.packed_product import Blocks
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import column_windows, lay_out_scratch, outputs_of
from lamina.passes.schedule.window_prefetch import windows_ahead


@record
class BlockSurroundings:
    """The block of rows that segments may run for at once: its memory, and what it keeps."""

    memory: Memory
    target: Target
    blocks: Blocks
    scratch: BlockScratch | None

    def block_memory(self, segment: list[Stage]) -> Memory:
        """Where a segment finds its operands when it runs for the block."""
        outputs = outputs_of(segment)
        return JammedBlock(segment, self.memory, outputs, self.blocks, self.scratch).block_memory()


def choose_jammed_block(segment: list[Stage], around: BlockSurroundings) -> bool:
    """Whether the segment runs for a block of rows at once, as a sum of it gains by a jam along
    these; its schedules are decided then."""
    sums, blocks = [stage for stage in segment if not stage.is_pointwise], around.blocks
    if not sums or not blocks.is_blocked or blocks.live or not can_run_in_block(segment):
        return False
    if any(s.totals or s.op.sources or s.schedule.compute_with for s in segment):
        return False
    if any(s.reduced.issuperset(d for d in s.inner if s.extents[d] > 1) for s in sums):
        return False  # such as a softmax: it keeps no columns that vectors run along
    outputs = outputs_of(segment)
    copies: list[Stage] = []
    for stage in segment:
        copy = with_row_inside(stage)
        extents = list(copy.extents)
        extents[copy.inner[0]] = blocks.fewest
        copy.extents = tuple(extents)
        copies.append(copy)
    sweeps = group_sweeps(copies, follow=True)
    kept = around.block_memory(segment)
    lay_out_scratch(sweeps, kept, outputs, column_windows(copies, blocks.size))
    choose_sweeps(sweeps, SweepSurroundings(kept, around.target))
    jams = [(copy.schedule.jam, copy.inner[0]) for copy in copies]
    if not any(jam is not None and jam.dim == row for jam, row in jams):
        return False
    for copy in copies:
        _choose_windows_ahead(copy, kept, around.target)
    for stage, copy in zip(segment, copies, strict=True):
        stage.schedule = copy.schedule
    return True


def choose_turned_block(segment: list[Stage], around: BlockSurroundings) -> bool:
    """Whether the segment, a pointwise stage, runs for a block of rows at once, as it reads or
    writes along these; its schedule is decided then."""
    (stage, *others), fits = segment, around.blocks.is_blocked and can_run_in_block(segment)
    if others or not fits or not stage.is_pointwise or stage.totals or stage.op.sources:
        return False
    if len(stage.inner) != 1 or stage.schedule.transpose is not None:
        return turns_rows(segment)
    lanes, plain = around.target.lanes(widest_bits([stage])), with_row_inside(stage)
    for copy in (plain, replace(plain, inner=row_last(plain.inner))):
        if transposed_dim(copy, copy.inner[:1], copy.inner[1], lanes) is None:
            continue
        sweeps = group_sweeps([copy])
        choose_sweeps(sweeps, SweepSurroundings(around.block_memory(segment), around.target))
        if copy.schedule.transpose == copy.inner[0]:
            stage.schedule = copy.schedule
            return True
        copy.schedule = stage.schedule
    return False


def _choose_windows_ahead(stage: Stage, memory: Memory, target: Target) -> None:
    """Whether tiles of a sum over windows fetch for the next line, as the image is far away."""
    jam, vectors = stage.schedule.jam, stage.schedule.vectorize
    if jam is None or vectors is None:
        return
    found = windows_ahead(stage, memory, jam.dim, vectors.dim, LINES_AHEAD)
    images = {ahead.read.memory.type for ahead in found}
    sizes = [byte_size(kind) for kind in images if isinstance(kind, MemRefType)]
    if sum(sizes) > FAR_IMAGE * target.l2_bytes:
        decide(stage, prefetch_rows=LINES_AHEAD)
