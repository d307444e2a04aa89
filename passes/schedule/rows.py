"""Row segments: the stages that run one after the other for each row, grouped into sweeps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion.fusion_rules import pure_dim
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.column import COLUMN_UNROLL, ColumnEmitter
from lamina.passes.schedule.column_streams import (
    FAR_STREAMS,
    LEAST_LENGTH,
    STREAMS,
    ColumnStreamsEmitter,
)
from lamina.passes.schedule.column_tile import (
    ColumnTile,
    ColumnTileEmitter,
    choose_column_tile,
)
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory, Sweep, sweep_lanes
from lamina.passes.schedule.prefetch import Ahead, RowPrefetch, fetch_along, plan_prefetch
from lamina.passes.schedule.row_streams import RowStreamsEmitter
from lamina.passes.schedule.running_maximum import Normalizer, NormalizerEmitter, normalizer
from lamina.passes.schedule.stages import Access, Stage, is_temporary
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.transpose import TransposeEmitter, transposed_dim
from lamina.passes.schedule.vector_place import vector_place

COLUMN_START = -3
"""Pseudo-dimension of column scratch: the first column of the task."""


def build_sweeps(stages: Sequence[Stage]) -> list[Sweep]:
    """Group neighbouring stages that can share a nest, in order."""
    sweeps: list[Sweep] = []
    for stage in stages:
        order = _joined_order(sweeps[-1], stage) if sweeps else None
        if order is None:
            sweeps.append(Sweep([stage], {stage: stage.inner}))
        else:
            sweeps[-1].stages.append(stage)
            sweeps[-1].order[stage] = order
    return sweeps


def _reduces_everything(stage: Stage) -> bool:
    return stage.is_pointwise or (
        all(c != "store" for c in stage.combiners) and set(stage.inner) <= stage.reduced
    )


def _joined_order(sweep: Sweep, stage: Stage) -> tuple[int, ...] | None:
    """The order of the stage's dims in the sweep's nest, or None if it needs its own nest."""
    if not _reduces_everything(stage) or not all(map(_reduces_everything, sweep.stages)):
        return None
    if len(stage.inner) != len(sweep.extents) or _reads_source_of(sweep, stage):
        return None
    order: tuple[int, ...] | None = None
    for member in sweep.stages:
        for write, combiner in zip(member.writes, member.combiners, strict=True):
            for read in stage.reads:
                if read.memory is not write.memory:
                    continue
                if combiner != "store":
                    return None
                matched = match_order(sweep.order[member], write, read)
                if matched is None or (order is not None and order != matched):
                    return None
                order = matched
    if order is None:
        order = stage.inner
    if set(order) != set(stage.inner):
        return None
    return order if tuple(stage.extents[d] for d in order) == sweep.extents else None


def _reads_source_of(sweep: Sweep, stage: Stage) -> bool:
    made = {w.memory for member in sweep.stages for w in member.writes}
    return any(source in made for source in stage.op.sources)


def match_order(order: tuple[int, ...], write: Access, read: Access) -> tuple[int, ...] | None:
    """The reader's dims in the writer's order, if it reads just what was written there."""
    if read.pad is not None:
        return None
    matched: dict[int, int] = {}
    for written, wanted in zip(write.axes, read.axes, strict=True):
        dim, reader = pure_dim(written), pure_dim(wanted)
        if dim in order:
            if reader is None:
                return None
            matched[order.index(dim)] = reader
    if len(matched) != len(order):
        return None
    return tuple(matched[place] for place in range(len(order)))


def plan_scratch(
    emit: Emitter,
    sweeps: Sequence[Sweep],
    memory: Memory,
    outputs: set[SSAValue],
    columns: int | None = None,
) -> None:
    """Find which temporaries stay in registers; give the others scratch for one row.

    With `columns`, scratch has room for as many positions of the first inner dimension, from
    `COLUMN_START` on.
    """
    readers: dict[SSAValue, list[tuple[Sweep, Stage]]] = {}
    for sweep in sweeps:
        for stage in sweep.stages:
            for memref_value in [r.memory for r in stage.reads] + list(stage.op.sources):
                readers.setdefault(memref_value, []).append((sweep, stage))
    for sweep in sweeps:
        for stage in sweep.stages:
            for write in stage.writes:
                if write.memory in outputs or write.memory in memory.flat:
                    continue
                needed = bool(stage.totals) or any(
                    not _in_registers(sweep, stage, write, reader_sweep, reader)
                    for reader_sweep, reader in readers.get(write.memory, [])
                )
                if not needed:
                    memory.dead.add(write.memory)
                _row_scratch(emit, stage, write, memory, columns, allocate=needed)


def _in_registers(
    sweep: Sweep, stage: Stage, write: Access, reader_sweep: Sweep, reader: Stage
) -> bool:
    if write.memory in reader.op.sources:
        return False
    if any(read.memory is write.memory and read.pad is not None for read in reader.reads):
        return False  # what lies beyond the edge is decided by position
    if reader_sweep is sweep:
        return True
    kept = {d for form in write.axes for d, _ in form.terms}
    return not kept & set(stage.inner) and (not stage.inner or set(stage.inner) <= stage.reduced)


def _row_scratch(
    emit: Emitter,
    stage: Stage,
    write: Access,
    memory: Memory,
    columns: int | None,
    *,
    allocate: bool,
) -> None:
    strides: dict[int, int] = {}
    step = 1
    for axis in reversed(range(len(write.axes))):
        dims = {d for d, _ in write.axes[axis].terms}
        if dims & set(stage.inner):
            strides[axis] = step
            if columns is not None and pure_dim(write.axes[axis]) == stage.inner[0]:
                memory.shift[write.memory] = Linear(((COLUMN_START, -step),))
                step *= columns
                continue
            # Joined dims run past the end of their axis, into what the outer axis held.
            step *= max(write.shape[axis], write.axes[axis].range(stage.extents)[1] + 1)
    memory.scratch[write.memory] = strides
    if allocate:
        kind = MemRefType(write.element, [step])
        memory.flat[write.memory] = emit.add(
            memref.AllocaOp.get(write.element, 64, list(kind.get_shape()))
        )


class RowSegment:
    """Emits all sweeps of a row; scalars made for the row are forgotten at its end."""

    def __init__(
        self, sweeps: Sequence[Sweep], memory: Memory, target: Target, outputs: set[SSAValue]
    ) -> None:
        self.sweeps = sweeps
        self.memory = memory
        self.target = target
        self.outputs = outputs

    def run(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        bounds: tuple[Index, Index] | None = None,
        later: dict[Stage, Env] | None = None,
    ) -> None:
        """Emit one row; `bounds` narrows the first inner dimension of every sweep.

        With `later`, the position of a row to come, what that row reads may be fetched ahead.
        """
        fetch = None if later is None else self.prefetch()
        pairs = self._normalizers() if bounds is None else {}
        done = {pair.total for pair in pairs.values()}
        for sweep in self.sweeps:
            if sweep in pairs:
                self._normalizer(emit, pairs[sweep], envs)
            if sweep in pairs or sweep in done:
                continue
            ranges: list[tuple[Index, Index]] = [(0, e) for e in sweep.extents]
            if bounds is not None and ranges:
                ranges[0] = bounds
            ahead: list[Ahead] = []
            if fetch is not None and later is not None and fetch.sweep is sweep:
                ahead = fetch.ahead(emit, self.memory, later)
            elif len(self.sweeps) == 1 and self._is_walked_once(sweep):
                place = vector_place(sweep)
                ahead = fetch_along(emit, sweep, place, self.memory, self.target, envs)
            self._sweep(emit, sweep, {s: envs[s] for s in sweep.stages}, ranges, ahead)
        self.memory.scalars.clear()

    def run_together(self, emit: Emitter, rows: list[dict[Stage, Env]]) -> None:
        """Emit several rows whose first sweep only reduces: that one at once, then row by row."""
        first, *rest = self.sweeps
        emitter = self._emitter(RowStreamsEmitter, first, 0)
        assert isinstance(emitter, RowStreamsEmitter)
        for envs, totals in zip(rows, emitter.totals(emit, rows), strict=True):
            emitter.finish(emit, envs, totals)
            for sweep in rest:
                self._sweep(emit, sweep, {s: envs[s] for s in sweep.stages}, [], [])
            self.memory.scalars.clear()

    def _normalizers(self) -> dict[Sweep, Normalizer]:
        """Pairs of neighbouring sweeps that one walk does, by the first of the two."""
        pairs = (normalizer(*both) for both in zip(self.sweeps, self.sweeps[1:], strict=False))
        return {p.largest: p for p in pairs if p is not None and self.target.lanes(64) > 1}

    def _normalizer(self, emit: Emitter, pair: Normalizer, envs: dict[Stage, Env]) -> None:
        here = {stage: envs[stage] for stage in pair.stages}

        def plain(inner: Emitter) -> None:
            for sweep in (pair.largest, pair.total):
                ends: list[tuple[Index, Index]] = [(0, extent) for extent in sweep.extents]
                self._sweep(inner, sweep, here, ends, [])

        emitter = self._emitter(NormalizerEmitter, pair.largest, 0)
        assert isinstance(emitter, NormalizerEmitter)
        emitter.run_with(emit, pair, here, plain)

    def prefetch(self) -> RowPrefetch | None:
        """What a sweep may fetch for later rows while it computes one."""
        plain = [
            s
            for s in self.sweeps
            if s.extents and not self._is_transposed(s) and not self._keeps_dims(s)
        ]
        place = {s: vector_place(s) for s in plain}
        return plan_prefetch(self.sweeps, place, self.memory, self.target)

    @staticmethod
    def _keeps_dims(sweep: Sweep) -> list[int]:
        """Places of the dimensions that the sweep's reduction keeps, if it is one."""
        stage = sweep.stages[0]
        if stage.is_pointwise:
            return []
        return [p for p, d in enumerate(sweep.order[stage]) if d not in stage.reduced]

    def _is_walked_once(self, sweep: Sweep) -> bool:
        pointwise = all(s.is_pointwise for s in sweep.stages)
        return pointwise and bool(sweep.extents) and not self._is_transposed(sweep)

    def _is_transposed(self, sweep: Sweep) -> bool:
        if len(sweep.extents) != 2 or not all(s.is_pointwise for s in sweep.stages):
            return False
        stage = sweep.stages[0]
        first, second = sweep.order[stage]
        lanes = self.target.lanes(widest_bits(sweep.stages))
        turned = transposed_dim(stage, (first,), second, lanes)
        return vector_place(sweep) == 1 and turned is not None

    def _sweep(
        self,
        emit: Emitter,
        sweep: Sweep,
        envs: dict[Stage, Env],
        ranges: list[tuple[Index, Index]],
        ahead: list[Ahead],
    ) -> None:
        stage = sweep.stages[0]
        if kept := self._keeps_dims(sweep):
            self._partial(emit, sweep, envs[stage], ranges, kept)
        elif self._is_transposed(sweep):
            lanes = self.target.lanes(widest_bits(sweep.stages))
            reads = {r.memory for s in sweep.stages for r in s.reads}
            fetches = any(_bytes(memory) > self.target.l2_bytes for memory in reads)
            TransposeEmitter(sweep, self.memory, lanes, self.outputs, fetches=fetches).run(
                emit, envs, ranges
            )
        else:
            emitter = self._emitter(SweepEmitter, sweep, vector_place(sweep))
            emitter.ahead = ahead
            emitter.run(emit, envs, ranges)

    def _emitter(self, kind: type[SweepEmitter], sweep: Sweep, place: int) -> SweepEmitter:
        extent = sweep.extents[place] if sweep.extents else 1
        lanes = sweep_lanes(sweep.stages, extent, self.target.lanes(widest_bits(sweep.stages)))
        return kind(sweep, self.memory, place, lanes, self.outputs)

    def _partial(
        self,
        emit: Emitter,
        sweep: Sweep,
        env: Env,
        ranges: list[tuple[Index, Index]],
        kept: list[int],
    ) -> None:
        """A reduction that keeps some inner dims: loops over those around one over the rest."""
        stage = sweep.stages[0]
        order = sweep.order[stage]
        place = vector_place(sweep)
        tile = None
        outer = [p for p in kept if p != place]
        rest = [p for p in range(len(order)) if p not in outer]
        inner_sweep = Sweep([stage], {stage: tuple(order[p] for p in rest)})
        kind = SweepEmitter
        if place in kept:
            streams = self._row_streams(inner_sweep, rest.index(place))
            kind = ColumnStreamsEmitter if streams else ColumnEmitter
            whole = all(ends == (0, e) for ends, e in zip(ranges, sweep.extents, strict=True))
            tile = self._column_tile(stage, order[place], [order[p] for p in outer], whole)
            if tile is not None and not streams:
                kind = ColumnTileEmitter
                outer = [p for p in outer if order[p] != tile.jammed]
        emitter = self._emitter(kind, inner_sweep, rest.index(place))
        if isinstance(emitter, ColumnStreamsEmitter):
            emitter.streams = self._row_streams(inner_sweep, rest.index(place))
        if isinstance(emitter, ColumnTileEmitter):
            assert tile is not None
            emitter.tile = tile

        def nest(inner: Emitter, places: list[int], bound: Env) -> None:
            if not places:
                emitter.run(inner, {stage: bound}, [ranges[p] for p in rest])
                for write in stage.writes:
                    self.memory.scalars.pop(write.memory, None)
                return

            def body(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                nest(deeper, places[1:], {**bound, order[places[0]]: at})
                return values

            low, high = ranges[places[0]]
            inner.loop(low, high, 1, [], body)

        nest(emit, outer, env)

    def _column_tile(
        self, stage: Stage, column: int, outer: Sequence[int], whole: bool
    ) -> ColumnTile | None:
        """The register tile of a reduction that walks all of its columns, if it has one."""
        lanes = self.target.lanes(widest_bits([stage]))
        lanes = sweep_lanes([stage], stage.extents[column], lanes)
        chosen = choose_column_tile(stage, column, outer, self.memory, self.target, lanes)
        return chosen if whole else None

    def _row_streams(self, sweep: Sweep, place: int) -> int:
        """How many streams of rows a reduction into columns reads; 0 if its totals fit registers.

        So do those of rows so short that a block of registers holds all of their columns.
        """
        stage = sweep.stages[0]
        lanes = self.target.lanes(widest_bits(sweep.stages))
        length = max((e for p, e in enumerate(sweep.extents) if p != place), default=1)
        fits = sweep.extents[place] <= COLUMN_UNROLL * lanes
        if lanes == 1 or fits or length < STREAMS * LEAST_LENGTH:
            return 0
        read = dict.fromkeys(r.memory for r in stage.reads)
        far = sum(map(_bytes, read)) > self.target.l3_bytes
        return FAR_STREAMS if far and length >= FAR_STREAMS * LEAST_LENGTH else STREAMS


def _bytes(memory: SSAValue) -> int:
    kind = memory.type
    assert isinstance(kind, MemRefType)
    return byte_size(kind)


def widest_bits(stages: Sequence[Stage]) -> int:
    """Element width that decides the vector length: 64 if doubles are computed, else 32."""
    for stage in stages:
        for access in stage.accesses():
            if getattr(access.element, "name", "") == "f64":
                return 64
    return 32


def outputs_of(stages: Sequence[Stage]) -> set[SSAValue]:
    """Memrefs that the stages write and the caller sees."""
    return {w.memory for stage in stages for w in stage.writes if not is_temporary(w.memory)}
