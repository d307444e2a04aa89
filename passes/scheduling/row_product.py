"""Products whose epilogue needs whole rows: every stage for a block of rows in turn."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.memory import Env
from lamina.passes.scheduling.product_task import ProductTask
from lamina.passes.scheduling.rows import RowSegment, build_sweeps, plan_scratch
from lamina.passes.scheduling.stages import LOCAL_ROW, Stage, is_temporary


class RowProduct(ProductTask):
    """Whole rows: every product for a block of rows, every row stage for each of its rows."""

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        segments = self._segments()
        for write, stage in self._crossing(segments):
            self._block_scratch(emit, write, stage)
        for segment in segments:
            if segment[0] in self.products:
                stage = segment[0]
                shape = self.products[stage]
                panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
                self.product(emit, stage, envs[stage], rows, (0, panels))
            else:
                self._rows(emit, segment, envs, rows)

    def _segments(self) -> list[list[Stage]]:
        segments: list[list[Stage]] = []
        for stage in self.stages:
            if stage in self.products or not segments or segments[-1][0] in self.products:
                segments.append([stage])
            else:
                segments[-1].append(stage)
        return segments

    def _crossing(self, segments: Sequence[list[Stage]]) -> list[tuple[int, Stage]]:
        """Temporaries that one segment writes and another reads: (write number, stage)."""
        crossing: list[tuple[int, Stage]] = []
        for segment in segments:
            others = [s for s in self.stages if s not in segment]
            read = {r.memory for s in others for r in s.reads}
            for stage in segment:
                for number, write in enumerate(stage.writes):
                    if is_temporary(write.memory) and write.memory in read:
                        crossing.append((number, stage))
        return crossing

    def _block_scratch(self, emit: Emitter, number: int, stage: Stage) -> None:
        write = stage.writes[number]
        strides: dict[int, int] = {}
        step = 1
        row_dims = set(stage.rows)
        for axis in reversed(range(len(write.axes))):
            if {d for d, _ in write.axes[axis].terms} - row_dims:
                strides[axis] = step
                extent = write.shape[axis]
                shape = self.products.get(stage)
                if step == 1 and shape is not None and shape.panel:
                    extent = -(-extent // shape.panel) * shape.panel
                step *= extent
        if step % 512 == 0:
            # Rows a multiple of the cache's way size apart would share their sets.
            step += 16
        self.memory.scratch[write.memory] = strides
        if self.blocked:
            # Otherwise the tiled rows are inner dims, and have their strides already.
            self.memory.local_row[write.memory] = step
        self.memory.flat[write.memory] = emit.add(
            memref.AllocaOp.get(write.element, 64, [self.block * step])
        )

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
        segment: list[Stage],
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
    ) -> None:
        sweeps = build_sweeps(segment)
        plan_scratch(emit, sweeps, self.memory, self.outputs)
        emitter = RowSegment(sweeps, self.memory, self.target, self.outputs)

        def row(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            local = inner.minus(at, rows[0])
            row_envs = {s: {**envs[s], LOCAL_ROW: local} for s in segment}
            if self.blocked:
                for stage in segment:
                    row_envs[stage][stage.rows[-1]] = at
            emitter.run(inner, row_envs)
            return values

        emit.loop(*rows, 1, [], row)
