"""Products whose epilogue is pointwise: panel by panel, on scratch that stays in cache."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.product_task import PANEL_START, ProductTask
from lamina.passes.schedule.rows import RowSegment, build_sweeps, plan_scratch
from lamina.passes.schedule.stages import LOCAL_ROW, Stage, is_temporary

TASKS = 16
"""Tasks to aim for, so that any usual number of threads is kept busy."""


PAIR_BYTES = 2
"""Bytes of an element of a product in matrix tiles."""


class PanelProduct(ProductTask):
    """Panel by panel: product into panel scratch, then the pointwise epilogue on it."""

    def _shape(self) -> tuple[Stage, Contraction]:
        return next(iter(self.products.items()))

    def column_tasks(self, others: int) -> int:
        stage, shape = self._shape()
        panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
        wanted = max(1, -(-TASKS // others))
        most = max(1, panels // wanted)
        if shape.pairs is not None:
            # Tiles are multiplied faster than the last-level cache delivers them.
            kept = stage.extents[shape.inner_column] * shape.size(shape.summed) * PAIR_BYTES
            most = max(1, min(most, panels * self.target.l2_bytes // 4 // kept))
        for splits in range(wanted, panels + 1):
            if panels % splits == 0 and panels // splits <= most:
                return splits
        return panels

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        stage, shape = self._shape()
        assert shape.panel is not None
        panels = -(-stage.extents[shape.inner_column] // shape.panel)
        each = panels // splits
        first = emit.times(split, each)
        last = emit.plus(first, each)
        epilogue = [s for s in self.stages if s is not stage]
        if not epilogue:
            self.product(emit, stage, envs[stage], rows, (first, last), together=each)
            return
        self._panel_scratch(emit, stage, shape)
        sweeps = build_sweeps(epilogue)
        plan_scratch(emit, sweeps, self.memory, self.outputs)
        segment = RowSegment(sweeps, self.memory, self.target, self.outputs)
        columns = stage.extents[shape.inner_column]

        def after_panel(inner: Emitter, env: Env, start: Index) -> None:
            end = inner.least(inner.plus(start, shape.panel or 1), columns)
            if columns % (shape.panel or 1) == 0:
                end = inner.plus(start, shape.panel or 1)

            def row(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                local = deeper.minus(at, rows[0])
                extra = {LOCAL_ROW: local, PANEL_START: env[PANEL_START]}
                row_envs = {s: {**envs[s], **extra} for s in epilogue}
                if self.blocked:
                    for s in epilogue:
                        row_envs[s][s.rows[-1]] = at
                segment.run(deeper, row_envs, (start, end))
                return values

            inner.loop(*rows, 1, [], row)

        self.product(emit, stage, envs[stage], rows, (first, last), after_panel, each)

    def _panel_scratch(self, emit: Emitter, stage: Stage, shape: Contraction) -> None:
        write = stage.writes[0]
        if not is_temporary(write.memory):
            return
        assert shape.panel is not None
        axis = next(a for a, f in enumerate(write.axes) if f.coefficient(shape.inner_column))
        self.memory.scratch[write.memory] = {axis: 1}
        self.memory.local_row[write.memory] = shape.panel
        self.memory.shift[write.memory] = Linear(((PANEL_START, -1),))
        self.memory.flat[write.memory] = emit.add(
            memref.AllocaOp.get(write.element, 64, [self.block * shape.panel])
        )

    def _padded_scratch(self, stage: Stage) -> bool:
        return stage.writes[0].memory in self.memory.local_row
