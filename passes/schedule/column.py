"""Reductions whose result is contiguous along a kept dimension: vectors across, sums in loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index, LoopBody
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.peel import mask_below, whole_steps
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweep import SweepEmitter


class ColumnEmitter(SweepEmitter):
    """Emits a single stage's reduction over the sweep's other dims, vectorized along `place`."""

    def run(
        self, emit: Emitter, envs: dict[Stage, Env], ranges: Sequence[tuple[Index, Index]]
    ) -> None:
        low, high = ranges[self.place]
        unroll = self.unroll
        reduced = [p for p in range(len(ranges)) if p != self.place]

        def block(copies: int, mask_tail: bool) -> LoopBody:
            def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
                mask = mask_below(inner, high, index, self.lanes) if mask_tail else None
                self._columns(inner, envs, ranges, reduced, index, copies, mask)
                return values

            return body

        wide = self.lanes * unroll
        middle = whole_steps(emit, low, high, wide)
        emit.loop(low, middle, wide, [], block(unroll, False))
        end = whole_steps(emit, low, high, self.lanes)
        if unroll > 1:
            emit.loop(middle, end, self.lanes, [], block(1, False))
        if self.lanes > 1:
            emit.loop(end, high, self.lanes, [], block(1, True))

    def _columns(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        ranges: Sequence[tuple[Index, Index]],
        reduced: list[int],
        index: Index,
        copies: int,
        mask: SSAValue | None,
    ) -> None:
        count = len(self.reductions)
        start = self._start(emit) * copies
        totals = self._reduce(emit, envs, ranges, reduced, index, copies, mask, start)
        for copy in range(copies):
            at = emit.plus(index, copy * self.lanes)
            for place, (stage, number) in enumerate(self.reductions):
                self._store_total(
                    emit, envs[stage], stage, number, totals[copy * count + place], at, mask
                )

    def _reduce(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        ranges: Sequence[tuple[Index, Index]],
        reduced: list[int],
        index: Index,
        copies: int,
        mask: SSAValue | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        if reduced:
            place, *rest = reduced

            def body(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                deeper = self._bind(envs, place, at)
                return self._reduce(inner, deeper, ranges, rest, index, copies, mask, values)

            low, high = ranges[place]
            return emit.loop(low, high, 1, carried, body)
        count = len(self.reductions)
        prepared = {s: self._prepare(emit, s, envs[s]) for s in self.sweep.stages}
        made: list[SSAValue] = []
        for copy in range(copies):
            at = emit.plus(index, copy * self.lanes)
            part = carried[copy * count : (copy + 1) * count]
            made += self._step(emit, envs, prepared, at, mask, part)
        return made

    def _store_total(
        self,
        emit: Emitter,
        env: Env,
        stage: Stage,
        number: int,
        total: SSAValue,
        index: Index,
        mask: SSAValue | None,
    ) -> None:
        access = stage.writes[number]
        if access.memory in self.memory.dead and access.memory not in self.outputs:
            return
        dim = self.sweep.order[stage][self.place]
        at = self.memory.offset(emit, access, {**env, dim: index}, None)
        flat = self.memory.flat[access.memory]
        if self.lanes == 1:
            emit.run(memref.StoreOp.get(total, flat, [emit.value(at)]))
            return
        stride = self.memory.layout(access).coefficient(dim)
        store(emit, total, flat, at, stride, self.lanes, mask)
