"""Sums of register tiles that wait in scratch for the next block of terms."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, vector_load_op, vector_store_op
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.row_loops import RowLoops
from lamina.passes.schedule.stages import ROW_START


class WaitingSums:
    """Room for the sums of so many panels, of `size` elements for the rows of each of the lines.

    Those of each tile follow one another, in vectors of so many lanes.
    """

    def __init__(
        self,
        emit: Emitter,
        element: Attribute,
        lanes: int,
        size: int,
        lines: RowLoops,
        panels: int,
    ) -> None:
        self.size = size
        self.lines = lines
        self.lanes = lanes
        self.kind = VectorType(element, [lanes])
        self.memory: SSAValue = emit.add(alloca_op(element, panels * lines.count * size))

    def start(self, emit: Emitter, env: Env, panel: Index) -> Index:
        """Where the sums of the line at hand begin, of a panel by its number in the task."""
        line = emit.quotient(env.get(ROW_START, 0), max(1, self.lines.length))
        return emit.plus(
            emit.times(panel, self.size * self.lines.count), emit.times(line, self.size)
        )

    def load(self, emit: Emitter, place: Index, count: int) -> list[SSAValue]:
        """So many vectors of sums of the blocks before."""
        places = [emit.value(emit.plus(place, n * self.lanes)) for n in range(count)]
        return [emit.add(vector_load_op(self.memory, at, self.kind)) for at in places]

    def store(self, emit: Emitter, place: Index, totals: Sequence[SSAValue]) -> None:
        """Let sums wait."""
        for n, total in enumerate(totals):
            at = emit.value(emit.plus(place, n * self.lanes))
            emit.run(vector_store_op(total, self.memory, at))
