"""Several rows at once, far apart: a kernel that only reduces its rows reads memory in streams.

One stream of reads does not fill the memory system: the hardware prefetches each no further than
a few lines or the end of a page. Rows a quarter of the tensor apart make four.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Sweep
from lamina.passes.schedule.peel import mask_below
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweep import SweepEmitter


def only_reduces(sweep: Sweep, rest: Sequence[Sweep], outputs: set[SSAValue]) -> bool:
    """Whether the sweep ends in totals, and nothing else of it is needed after it."""
    pointwise = [s for s in sweep.stages if s.is_pointwise]
    totals = [s for s in sweep.stages if not s.is_pointwise]
    if len(sweep.extents) != 1 or not totals:
        return False
    if any("store" in s.combiners or not set(s.inner) <= s.reduced for s in totals):
        return False
    others = [s for other in rest for s in other.stages]
    needed = {r.memory for s in others for r in s.reads} | outputs
    needed |= {source for s in others for source in s.op.sources}
    return not any(w.memory in needed for s in pointwise for w in s.writes)


class RowJamEmitter(SweepEmitter):
    """Emits a sweep of reductions for several rows together."""

    def totals(self, emit: Emitter, rows: Sequence[dict[Stage, Env]]) -> list[list[SSAValue]]:
        """The accumulators of each row at the end of its only inner dimension."""
        (extent,) = self.sweep.extents
        count = len(self.reductions)
        prepared = [
            {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages} for envs in rows
        ]
        start = self._start(emit)

        def step(
            inner: Emitter, index: Index, values: list[SSAValue], mask: SSAValue | None, copy: int
        ) -> list[SSAValue]:
            at = inner.plus(index, copy * self.lanes)
            for number, (envs, body) in enumerate(zip(rows, prepared, strict=True)):
                low = (number * self.unroll + copy) * count
                part = values[low : low + count]
                made = self._step(inner, envs, body, at, mask, part)
                values = [*values[:low], *made, *values[low + count :]]
            return values

        def wide(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            for copy in range(self.unroll):
                values = step(inner, index, values, None, copy)
            return values

        def single(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            return step(inner, index, values, None, 0)

        def masked(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            return step(inner, index, values, mask_below(inner, extent, index, self.lanes), 0)

        width = self.lanes * self.unroll
        carried = start * (len(rows) * self.unroll)
        middle, end = extent - extent % width, extent - extent % self.lanes
        carried = emit.loop(0, middle, width, carried, wide)
        carried = emit.loop(middle, end, self.lanes, carried, single)
        if self.lanes > 1:
            carried = emit.loop(end, extent, self.lanes, carried, masked)
        each = self.unroll * count
        return [carried[row * each : (row + 1) * each] for row in range(len(rows))]

    def finish(self, emit: Emitter, envs: dict[Stage, Env], accumulators: list[SSAValue]) -> None:
        """Join one row's accumulators, and keep its totals."""
        self._finish(emit, envs, accumulators)
