"""Rows that each task of a product walks, for every panel and block of its sum.

Lines of a small image are such rows: they are too short to share what is read of a panel, unless
all of them are multiplied by a block of it while that is near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.stages import ROW_START, Stage


@record
class RowLoops:
    """The rows that stand at `places` among those of each stage, and how far each goes.

    Of a line of them, a task has `length` rows at most.
    """

    places: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    length: int = 0

    @property
    def count(self) -> int:
        """Lines."""
        return prod(self.extents)

    def env(self, stage: Stage, point: Sequence[Index]) -> Env:
        """Where a stage is at a position of the lines."""
        return {stage.rows[place]: at for place, at in zip(self.places, point, strict=True)}

    def each(self, emit: Emitter, body: Callable[[Emitter, list[Index]], None]) -> None:
        """Emit `body` for all lines; once, where there are none."""
        over_points(emit, [(0, extent) for extent in self.extents], body)

    def start(self, emit: Emitter, point: Sequence[Index]) -> Env:
        """How many rows of the task stand in front of a line."""
        if not self.places:
            return {}
        steps = [self.length * prod(self.extents[n + 1 :]) for n in range(len(self.extents))]
        form = Linear.of(dict(enumerate(steps)))
        return {ROW_START: emit.linear(form, dict(enumerate(point)))}


def row_loops(plan: ProductPlan) -> RowLoops:
    """The rows in front of the last that are loops of a task (`inner_rows`).

    Raises InputError where these are no rows of the product alone, or tasks are no ranges of
    panels.
    """
    count = plan.tasks.inner_rows
    if not count:
        return RowLoops()
    stage, said = plan.stages[0], f"inner_rows = {count}"
    places = tuple(range(len(stage.rows) - 1 - count, len(stage.rows) - 1))
    if not plan.panel_mode or not plan.is_blocked or any(open_rows(s.op) for s in plan.stages):
        reason = "of products computed at panels, along rows all of which count"
        raise illegal(stage.op, f"{said}: {reason}")
    most = most_row_loops(stage, plan.first[1])
    if count > most:
        raise illegal(stage.op, f"{said}: in front of the last row stand {most} of the product's")
    extents = tuple(stage.extents[stage.rows[p]] for p in places)
    return RowLoops(places, extents, plan.blocks.size)


def most_row_loops(stage: Stage, shape: Contraction) -> int:
    """Rows in front of the last that only the row operand of a product has."""
    outer = list(reversed(stage.rows[:-1]))
    return next((n for n, dim in enumerate(outer) if dim not in shape.rows), len(outer))
