"""Rows that each task of a product walks, for every panel and block of its sum.

Lines of a small image are such rows: they are too short to share what is read of a panel, unless
all of them are multiplied by a block of it while that is near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.packed_product import Blocks
from lamina.passes.schedule.stages import ROW_START, Stage


@dataclass(frozen=True)
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

        def line(inner: Emitter, at: list[Index], values: list[object]) -> list[object]:
            body(inner, at)
            return values

        emit.nest([(0, extent) for extent in self.extents], [], line)  # pyright: ignore

    def start(self, emit: Emitter, point: Sequence[Index]) -> Env:
        """How many rows of the task stand in front of a line."""
        if not self.places:
            return {}
        steps = [self.length * prod(self.extents[n + 1 :]) for n in range(len(self.extents))]
        form = Linear.of(dict(enumerate(steps)))
        return {ROW_START: emit.linear(form, dict(enumerate(point)))}


def row_loops(
    stages: Sequence[Stage], shape: Contraction, blocks: Blocks, count: int, *, panel_mode: bool
) -> RowLoops:
    """So many rows in front of the last, as loops of a task.

    Raises InputError where these are no rows of the product alone, or tasks are no ranges of
    panels.
    """
    stage = stages[0]
    places = tuple(range(len(stage.rows) - 1 - count, len(stage.rows) - 1))
    said = f"inner_rows = {count}"
    if not panel_mode or not blocks.is_blocked or any(open_rows(s.op) for s in stages):
        reason = "of products computed at panels, along rows all of which count"
        raise illegal(stage.op, f"{said}: {reason}")
    most = most_row_loops(stage, shape)
    if count > most:
        raise illegal(stage.op, f"{said}: in front of the last row stand {most} of the product's")
    return RowLoops(places, tuple(stage.extents[stage.rows[p]] for p in places), blocks.size)


def most_row_loops(stage: Stage, shape: Contraction) -> int:
    """Rows in front of the last that only the row operand of a product has."""
    outer = list(reversed(stage.rows[:-1]))
    return next((n for n, dim in enumerate(outer) if dim not in shape.rows), len(outer))
