"""Sweeps along a bounded dimension: where a whole vector is within the bounds, nothing is compared.

A block of rows begins and ends for all its rows; each row has its own bounds in between, and only
the vectors that these cut through ask for positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue

from lamina.dialects.loop.bounded_dims import comparisons, noted_bounds
from lamina.dialects.loop.bounds import Bound
from lamina.passes.schedule.body import Body, Lane
from lamina.passes.schedule.bounded_block import ends
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Envs, Sweep
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweep import SweepEmitter


class BoundedSegment(RowSegment):
    """The sweeps of a row, along a bounded dimension."""

    def _emitter(self, kind: type[SweepEmitter], sweep: Sweep) -> SweepEmitter:
        return super()._emitter(BoundedSweepEmitter if kind is SweepEmitter else kind, sweep)


class BoundedSweepEmitter(SweepEmitter):
    """A sweep in three parts: up to the row's bounds, within them, and behind them."""

    _is_within = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: dict[Stage, Mapping[SSAValue, bool]] = {}

    def _vector_loop(
        self,
        emit: Emitter,
        rows: Sequence[Envs],
        bounds: tuple[Index, Index] | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        if bounds is None or self.place or len(self.sweep.extents) != 1:
            return super()._vector_loop(emit, rows, bounds, carried)
        compared = [stage for stage in self.sweep.stages if self._answers(stage)]
        if not compared:
            return super()._vector_loop(emit, rows, bounds, carried)
        low, high = bounds
        first, last = self._whole_vectors(emit, compared[0], rows[0][compared[0]], bounds)
        unroll = self.unroll
        for begin, end, inside in ((low, first, False), (first, last, True), (last, high, False)):
            self._is_within, self.unroll = inside, unroll if inside else 1
            carried = super()._vector_loop(emit, rows, (begin, end), carried)
        self._is_within, self.unroll = False, unroll
        return carried

    def _whole_vectors(
        self, emit: Emitter, stage: Stage, env: Env, bounds: tuple[Index, Index]
    ) -> tuple[Index, Index]:
        """The part of a range that is within the row's bounds, in whole vectors from its start."""
        low, high = bounds
        first, last = ends(emit, stage, env, bounds)
        skipped = emit.plus(emit.minus(first, low), self.lanes - 1)
        first = emit.plus(low, emit.times(emit.quotient(skipped, self.lanes), self.lanes))
        first = emit.least(first, high)
        count = emit.quotient(emit.minus(last, low), self.lanes)
        last = emit.plus(low, emit.times(count, self.lanes))
        return first, emit.most(first, last)

    def _prepare(self, emit: Emitter, stage: Stage, env: Env) -> Body:
        body = super()._prepare(emit, stage, env)
        if self._is_within:
            for value, answer in self._answers(stage).items():
                body.values[value] = Lane(emit.constant(IntegerAttr(int(answer), i1)), True)
        return body

    def _answers(self, stage: Stage) -> Mapping[SSAValue, bool]:
        """The comparisons of positions that come out the same everywhere within the bounds."""
        if stage not in self._known:
            noted, along = noted_bounds(stage.op), self.sweep.order[stage][self.place]
            found = {v: _answer(noted, own) for v, own in comparisons(stage.op, along).items()}
            self._known[stage] = {v: answer for v, answer in found.items() if answer is not None}
        return self._known[stage]


def _answer(bounds: Sequence[Bound], own: Bound) -> bool | None:
    """Whether all positions within the bounds are within one of a comparison; None if some are."""
    for bound in bounds:
        beyond = Bound(not bound.is_upper, bound.form)  # what is outside of that is within `bound`
        if beyond.outside_is_inside(own):
            return True
        if beyond.outside_is_outside(own):
            return False
    return None


__all__ = ["BoundedSegment"]
