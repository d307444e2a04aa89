"""Products whose epilogue is pointwise: panel by panel, on scratch that stays in cache."""

from __future__ import annotations

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import alloca_op
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory
from lamina.passes.schedule.packed_product import panel_count
from lamina.passes.schedule.product_task import ProductTask, TaskDomain
from lamina.passes.schedule.rows import RowSegment, first_loops
from lamina.passes.schedule.stages import PANEL_START, Stage, is_temporary
from lamina.passes.schedule.sweeps import allocate_scratch, scheduled_sweeps
from lamina.passes.schedule.totals_epilogue import run_in_registers
from lamina.passes.schedule.turned_panel import TurnedPanel, runs_along_rows


class PanelEpilogue(ProductTask):
    """Panel by panel: product into panel scratch, then the pointwise epilogue on it."""

    def _shape(self) -> tuple[Stage, Contraction]:
        return next(iter(self.products.items()))

    def task(self, emit: Emitter, domain: TaskDomain) -> None:
        envs, rows = domain.envs, domain.rows
        stage, shape = self._shape()
        assert shape.panel is not None
        each = panel_count(stage, shape) // domain.splits
        first = emit.times(domain.split, each)
        ends = self.ends[stage]
        panels, part = (first, ends.last(emit, emit.plus(first, each))), ends.part
        epilogue = [s for s in self.stages if s is not stage]
        if not epilogue:
            self.product(emit, stage, envs[stage], rows, panels, None, each, part)
            return
        if run_in_registers(epilogue):
            self.epilogue = self.in_registers(stage, epilogue, envs)
            self.product(emit, stage, envs[stage], rows, panels, None, each, part)
            return
        write = stage.writes[0]
        if lay_out_panel(stage, self.products, self.memory):
            size = self.blocks.size * shape.panel
            self.memory.flat[write.memory] = emit.add(alloca_op(write.element, size))
        turned = self._turned(stage, epilogue) if runs_along_rows(epilogue) else None
        sweeps = [] if turned is not None else scheduled_sweeps(epilogue)
        allocate_scratch(emit, sweeps, self.memory, self.outputs)
        segment = RowSegment(sweeps, self.memory, self.outputs)
        columns = stage.extents[shape.inner_column]

        def after_panel(inner: Emitter, env: Env, start: Index, line: list[Index]) -> None:
            end = inner.least(inner.plus(start, shape.panel or 1), columns)
            if columns % (shape.panel or 1) == 0:
                end = inner.plus(start, shape.panel or 1)
            if ends.columns is not None:
                end = inner.least(end, ends.columns)

            here: Envs = {
                s: {**envs[s], **self.lines.env(s, line), PANEL_START: env[PANEL_START]}
                for s in epilogue
            }
            if turned is not None:
                turned.emit(inner, here, rows, (start, end), ended=ends.columns is not None)
                return

            def row(deeper: Emitter, at: Index) -> None:
                row_envs = self._at_row(deeper, here, at, rows)
                segment.run(deeper, row_envs, first_loops(sweeps, (start, end)))

            inner.each(*rows, 1, row)

        self.product(emit, stage, envs[stage], rows, panels, after_panel, each, part)

    def _turned(self, product: Stage, epilogue: list[Stage]) -> TurnedPanel:
        """What runs the nest behind the product along its rows.

        Raises InputError where there are others, or rows are not divided into blocks.
        """
        follower, *others = epilogue
        if others or not self.blocks.is_blocked:
            legal = "along rows only of one nest behind a product whose rows are taken in blocks"
            raise illegal(follower.op, f"vectorize: {legal}")
        return TurnedPanel(product, follower, self.memory, self.outputs)

    def _padded_scratch(self, stage: Stage) -> bool:
        return stage.writes[0].memory in self.memory.local_row


def lay_out_panel(stage: Stage, products: dict[Stage, Contraction], memory: Memory) -> bool:
    """Set where a product's temporary result stands in the scratch of a panel; False if it is none.

    That has rows of a panel's width, one for each row of the block.
    """
    write, shape = stage.writes[0], products[stage]
    if not is_temporary(write.memory):
        return False
    assert shape.panel is not None
    axis = next(a for a, f in enumerate(write.axes) if f.coefficient(shape.inner_column))
    memory.scratch[write.memory] = {axis: 1}
    memory.local_row[write.memory] = shape.panel
    memory.shift[write.memory] = Linear(((PANEL_START, -1),))
    return True
