"""Row segments: the sweeps that run one after the other for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from lamina.passes.schedule.column import ColumnEmitter
from lamina.passes.schedule.column_rfactor import ColumnRfactorEmitter
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.loop_ends import narrowed
from lamina.passes.schedule.memory import Envs, Memory, Sweep
from lamina.passes.schedule.narrow_columns import NarrowColumnsEmitter, joins_columns
from lamina.passes.schedule.online_softmax import (
    OnlineSoftmax,
    OnlineSoftmaxEmitter,
    online_softmax,
)
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.prefetch import Ahead, RowPrefetch, fetch_along, fetch_rows
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.sweep_legality import verify_sweep
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue
from lamina.passes.schedule.transpose import TransposeEmitter

Ranges = Mapping[Sweep, Mapping[int, tuple[Index, Index]]]
"""Where loops of sweeps begin and end that do not walk all of their dimension."""


def first_loops(sweeps: Sequence[Sweep], bounds: tuple[Index, Index]) -> Ranges:
    """The same bounds for the outermost loop of every sweep that has one."""
    return {
        sweep: {sweep.order[sweep.stages[0]][0]: bounds} if sweep.extents else {}
        for sweep in sweeps
    }


class RowSegment:
    """Emits all sweeps of a row; scalars made for the row are forgotten at its end."""

    def __init__(self, sweeps: Sequence[Sweep], memory: Memory, outputs: set[SSAValue]) -> None:
        for sweep in sweeps:
            verify_sweep(sweep)
        self.sweeps = sweeps
        self.memory = memory
        self.outputs = outputs

    def run(
        self,
        emit: Emitter,
        envs: Envs,
        bounds: Ranges | None = None,
        later: Envs | None = None,
    ) -> None:
        """Emit one row; `bounds` narrows dimensions of sweeps.

        With `later`, the position of a row to come, what that row reads may be fetched ahead.
        """
        fetch = None if later is None else self.prefetch()
        pairs = self._online_pairs()
        if bounds is not None and any(bounds[sweep] for sweep in pairs):
            raise illegal(self.sweeps[0].stages[0].op, "online: only part of the row is walked")
        done = {pair.total for pair in pairs.values()}
        for sweep in self.sweeps:
            if sweep in pairs:
                self._online_pair(emit, pairs[sweep], envs)
            if sweep in pairs or sweep in done:
                continue
            ranges: list[tuple[Index, Index]] = [(0, e) for e in sweep.extents]
            stage = sweep.stages[0]
            if bounds is not None:
                given = bounds[sweep]
                order = zip(sweep.order[stage], ranges, strict=True)
                ranges = [given.get(dim, whole) for dim, whole in order]
            ranges = narrowed(emit, self.memory, sweep, envs[stage], ranges)
            ahead: list[Ahead] = []
            if fetch is not None and later is not None and fetch.sweep is sweep:
                ahead = fetch.ahead(emit, self.memory, later)
            ahead += fetch_along(emit, sweep, self.memory, envs)
            self._sweep(emit, sweep, {s: envs[s] for s in sweep.members}, ranges, ahead)
        self.memory.scalars.clear()

    def run_together(self, emit: Emitter, rows: list[Envs]) -> None:
        """Emit several rows whose first sweep only reduces: that one at once, then row by row.

        One stream of reads does not fill the memory system: the hardware prefetches each no further
        than a few lines or the end of a page. Rows a quarter of the tensor apart make four.
        """
        first, *rest = self.sweeps
        emitter = self._emitter(SweepEmitter, first)
        emitter.ahead = fetch_along(emit, first, self.memory, rows[0])
        for envs, totals in zip(rows, emitter.totals(emit, rows), strict=True):
            emitter.finish(emit, envs, totals)
            for sweep in rest:
                self._sweep(emit, sweep, {s: envs[s] for s in sweep.stages}, [], [])
            self.memory.scalars.clear()

    def _online_pairs(self) -> dict[Sweep, OnlineSoftmax]:
        """Pairs of neighbouring sweeps that one walk does, by the first of the two."""
        pairs: dict[Sweep, OnlineSoftmax] = {}
        for number, sweep in enumerate(self.sweeps):
            if sweep.schedule.online:
                pair = online_softmax(*self.sweeps[number : number + 2])
                if pair is None:
                    raise illegal(
                        sweep.stages[0].op,
                        "online: the next nest does not sum exponentials below its maximum",
                    )
                pairs[sweep] = pair
        return pairs

    def _online_pair(self, emit: Emitter, pair: OnlineSoftmax, envs: Envs) -> None:
        here = {stage: envs[stage] for stage in pair.stages}

        def plain(inner: Emitter) -> None:
            for sweep in (pair.largest, pair.total):
                self._sweep(inner, sweep, here, [ends], [])

        (extent,), stage = pair.largest.extents, pair.largest.stages[0]
        (ends,) = narrowed(emit, self.memory, pair.largest, envs[stage], [(0, extent)])
        emitter = self._emitter(OnlineSoftmaxEmitter, pair.largest)
        assert isinstance(emitter, OnlineSoftmaxEmitter)
        emitter.run_with(emit, pair, here, ends, plain)

    def prefetch(self) -> RowPrefetch | None:
        """What a sweep fetches for later rows while it computes one."""
        return fetch_rows(self.sweeps, self.memory)

    def _sweep(
        self,
        emit: Emitter,
        sweep: Sweep,
        envs: Envs,
        ranges: list[tuple[Index, Index]],
        ahead: list[Ahead],
    ) -> None:
        if sweep.kept:
            self._partial(emit, sweep, envs, ranges)
        elif sweep.schedule.transpose is not None:
            self._emitter(TransposeEmitter, sweep).run(emit, envs, ranges)
        else:
            emitter = self._emitter(SweepEmitter, sweep)
            emitter.ahead = ahead
            emitter.run(emit, envs, ranges)

    def _emitter(self, kind: type[SweepEmitter], sweep: Sweep) -> SweepEmitter:
        return kind(sweep, self.memory, self.outputs)

    def _partial(
        self,
        emit: Emitter,
        sweep: Sweep,
        envs: Envs,
        ranges: list[tuple[Index, Index]],
    ) -> None:
        """A reduction that keeps some inner dims: loops over those around one over the rest."""
        stage, schedule, place = sweep.stages[0], sweep.schedule, sweep.place
        order, env = sweep.order[stage], envs[stage]
        outer = [p for p in sweep.kept if p != place]
        kind = SweepEmitter
        if place in sweep.kept:
            kind = ColumnEmitter if schedule.rfactor is None else ColumnRfactorEmitter
        elif joins_columns(sweep):
            kind = NarrowColumnsEmitter
            outer = [p for p in outer if schedule.jam is None or order[p] != schedule.jam.dim]
        rest = [p for p in range(len(order)) if p not in outer]
        if schedule.jam is not None:
            outer = [p for p in outer if order[p] != schedule.jam.dim]
        inner_sweep = Sweep([stage], {stage: tuple(order[p] for p in rest)})
        emitter = self._emitter(kind, inner_sweep)
        if sweep.followers and isinstance(emitter, ColumnEmitter):
            where = (self.memory, self.outputs, emitter.lanes, order[place])
            emitter.epilogue = TotalsEpilogue(sweep.followers, envs, *where)
        if schedule.jam is not None and isinstance(emitter, ColumnEmitter):
            emitter.jammed = ranges[order.index(schedule.jam.dim)]
            emitter.open_tiles = bool(set(sweep.kept) & set(self.memory.ends.get(sweep, ())))

        def at_point(inner: Emitter, at: list[Index]) -> None:
            bound = {**env, **{order[p]: index for p, index in zip(outer, at, strict=True)}}
            emitter.run(inner, {stage: bound}, [ranges[p] for p in rest])
            for write in stage.writes:
                self.memory.scalars.pop(write.memory, None)

        over_points(emit, [ranges[p] for p in outer], at_point)
