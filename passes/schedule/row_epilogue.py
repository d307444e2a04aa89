"""Products whose epilogue needs whole rows: every stage for a block of rows in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import alloca_op
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.bounded_block import panels_of
from lamina.passes.schedule.bounded_sweep import BoundedSegment
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.jammed_block import JammedBlock, jams_rows
from lamina.passes.schedule.loop_ends import end_loops
from lamina.passes.schedule.memory import Env, Envs, Sweep
from lamina.passes.schedule.packed_product import PartOfSum
from lamina.passes.schedule.product_task import ProductTask, TaskDomain
from lamina.passes.schedule.rows import RowSegment, first_loops
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import allocate_scratch, scheduled_sweeps


class RowEpilogue(ProductTask):
    """Whole rows: every product for a block of rows, every row stage for each of its rows."""

    def task(self, emit: Emitter, domain: TaskDomain) -> None:
        envs, rows = domain.envs, domain.rows
        limits = None
        if self.bounded is not None:
            limits = self.bounded.range(emit, envs[self.bounded.stage], rows)
        scratch = self._place(emit)
        divided = {} if self.bounded is None else self.bounded.dims
        for segment in scratch.segments:
            self._segment(emit, segment, envs, rows, divided, limits)

    def _place(self, emit: Emitter) -> BlockScratch:
        """Give the task its scratch."""
        scratch = self.scratch
        assert scratch is not None
        places = [self._alloca(emit, element, row) for element, row in scratch.places]
        for buffer in scratch.buffers:
            self.memory.scratch[buffer.memory] = buffer.strides
            self.memory.flat[buffer.memory] = places[buffer.place]
            if self.blocks.is_blocked:
                # Otherwise the tiled rows are inner dims, and have their strides already.
                self.memory.local_row[buffer.memory] = scratch.places[buffer.place][1]
        return scratch

    def _alloca(self, emit: Emitter, element: Attribute, row: int) -> SSAValue:
        """Scratch for so many elements of each row of the block."""
        return emit.add(alloca_op(element, self.blocks.size * row))

    def _segment(
        self,
        emit: Emitter,
        segment: Sequence[Stage],
        envs: Envs,
        rows: tuple[Index, Index],
        divided: Mapping[Stage, int],
        ends: tuple[Index, Index] | None,
    ) -> None:
        """A product for the block, or stages for each of its rows.

        Those in `divided` run positions `ends` of the dimension that it names.
        """
        stage = segment[0]
        within = ends if stage in divided else None
        if stage not in self.products:
            self._rows(emit, segment, envs, rows, within)
            return
        product = self.packed(stage)
        if within is not None and divided[stage] != product.column:
            self._part_of_sum(emit, stage, envs[stage], rows, within)
            return
        own = self.ends[stage]
        panels: tuple[Index, Index] = (0, own.last(emit, product.panels))
        if within is not None:
            panels = panels_of(emit, within, product.panel)
        # Sums of all panels wait for the next block of terms.
        together = 1 if stage.schedule.terms is None else product.panels
        self.product(emit, stage, envs[stage], rows, panels, together=together, part=own.part)

    def _part_of_sum(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        terms: tuple[Index, Index],
    ) -> None:
        """A product of which only `terms` of the sum are other than zeros."""
        assert self.bounded is not None
        panels = 0, self.ends[stage].last(emit, self.packed(stage).panels)
        part = PartOfSum(terms, self.bounded.outside(emit, stage, terms))
        self.product(emit, stage, env, rows, panels, part=part)

    def _padded_scratch(self, stage: Stage) -> bool:
        write = stage.writes[0]
        strides = self.memory.scratch.get(write.memory)
        if strides is None:
            return False
        column = self.products[stage].inner_column
        axis = next(a for a, f in enumerate(write.axes) if f.coefficient(column))
        return strides.get(axis) == 1 and write.axes[axis] == Linear.dim(column)

    def _rows(
        self,
        emit: Emitter,
        segment: Sequence[Stage],
        envs: Envs,
        rows: tuple[Index, Index],
        bounds: tuple[Index, Index] | None = None,
    ) -> None:
        """The stages of a segment for each row, positions `bounds` of their first dimension."""
        if jams_rows(segment):
            jammed = JammedBlock(segment, self.memory, self.outputs, self.blocks, self.scratch)
            jammed.emit(emit, envs, rows, divided=bounds is not None)
            return
        sweeps = scheduled_sweeps(segment)
        end_loops(sweeps, self.memory)
        allocate_scratch(emit, sweeps, self.memory, self.outputs)
        emitter = self._row_segment(sweeps, bounds)
        narrowed = None if bounds is None else first_loops(sweeps, bounds)

        def row(inner: Emitter, at: Index) -> None:
            row_envs = self._at_row(inner, {s: envs[s] for s in segment}, at, rows)
            emitter.run(inner, row_envs, narrowed)

        emit.each(*rows, 1, row)

    def _row_segment(
        self, sweeps: Sequence[Sweep], bounds: tuple[Index, Index] | None
    ) -> RowSegment:
        kind = RowSegment if bounds is None else BoundedSegment
        return kind(sweeps, self.memory, self.outputs)
