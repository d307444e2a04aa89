"""What follows a product at its panels, and writes along its rows: squares that are turned.

Where a result has a product's columns apart, as a program's images have their channels, vectors of
a panel would be stored element by element. Rows of a block lie side by side in such a result, so
that the nest runs with vectors along these, of squares of the panel that are turned in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.jammed_block import by_row, row_axis
from lamina.passes.schedule.loop_ends import end_loops
from lamina.passes.schedule.memory import Envs, Memory
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import FIRST_WINDOW, scheduled_sweeps


def runs_along_rows(segment: Sequence[Stage]) -> bool:
    """Whether a stage has its vectors along the last row of the kernel, which blocks divide."""
    vectors = ((stage, stage.schedule.vectorize) for stage in segment)
    return any(by is not None and by.dim in stage.rows[-1:] for stage, by in vectors)


def with_row_innermost(stage: Stage) -> Stage:
    """A copy whose last loop is the last row of the kernel."""
    return replace(stage, rows=stage.rows[:-1], inner=(*stage.inner, stage.rows[-1]))


@record
class TurnedPanel:
    """The nest behind a product that runs for all rows of a block, on a panel in scratch."""

    product: Stage
    follower: Stage
    memory: Memory
    outputs: set[SSAValue]

    def emit(
        self,
        emit: Emitter,
        envs: Envs,
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        *,
        ended: bool,
    ) -> None:
        """Append the loops of a panel's `columns` for `rows` of a task that is at `envs`.

        `ended` says that columns end at a number of the call, within a square. Raises InputError
        where the panel has no axis for the rows.
        """
        panel = self.product.writes[0].memory
        axis = row_axis(self.product, panel)
        if axis is None:
            reason = "along rows of a product whose result has an axis for them"
            raise illegal(self.follower.op, f"vectorize: {reason}")
        memory = by_row(self.memory, {panel: axis})
        copy = with_row_innermost(self.follower)
        sweeps = scheduled_sweeps([copy])
        end_loops(sweeps, memory)
        for sweep in sweeps:  # blocks begin and end at any row
            anywhere: dict[int, tuple[()]] = {0: (), 1: ()} if ended else {1: ()}
            memory.ends[sweep] = {**anywhere, **memory.ends.get(sweep, {})}
        column, row = copy.inner
        own = {copy: {**envs[self.follower], FIRST_WINDOW: rows[0]}}
        bounds = {sweep: {column: columns, row: rows} for sweep in sweeps}
        RowSegment(sweeps, memory, self.outputs).run(emit, own, bounds)
