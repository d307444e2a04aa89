"""The positions of a bounded dimension (`lamina.bounds`) that a block of rows has to visit.

A block runs each bounded stage from the least lower bound of its rows to the largest upper one, in
whole panels. Each row has at least one position, masked or not: one that is masked throughout is
NaN or what the program makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import lcm

from xdsl.ir import SSAValue

from lamina.dialects.loop.bounds import BOUNDS, FIRST_COUNT, Bound, BoundsAttr
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.pairs import has_pieces
from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.dialects.loop.zero_axes import zeros_along
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import ends_of
from lamina.passes.schedule.memory import Env, Sweep
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import scheduled_sweeps


@record
class BoundedBlock:
    """How the bounded stages of a kernel are run: their dimensions, bounds and the step."""

    dims: Mapping[Stage, int]
    """For each bounded stage its dimension."""
    stage: Stage
    """The one whose dimensions `bounds` are over."""
    bounds: tuple[Bound, ...]
    step: int
    """What ranges begin and end at: whole panels of each product."""
    counts: Mapping[int, Index] = field(default_factory=dict[int, Index])
    """Numbers of the call, by the pseudo-dimensions of bounds that they are."""
    zeros: Mapping[Stage, int] = field(default_factory=dict[Stage, int])
    """The pseudo-dimension of the number from which on the packed operand of a product is 0."""

    @property
    def extent(self) -> int:
        """Positions of the dimension."""
        return self.stage.extents[self.dims[self.stage]]

    @property
    def is_level(self) -> bool:
        """Whether the bounds are the same for all rows."""
        return all(d >= FIRST_COUNT for b in self.bounds for d, _ in b.form.terms)

    @staticmethod
    def of(
        segments: Sequence[Sequence[Stage]], products: Mapping[Stage, Contraction]
    ) -> BoundedBlock | None:
        """Of a kernel in segments, if each of its bounded stages can be run within its bounds."""
        found = {s: b for part in segments for s in part if (b := _bounds(s)) is not None}
        if not found:
            return None
        dims = {stage: attribute.dim.value.data for stage, attribute in found.items()}
        steps = [_step(stage, dims[stage], products[stage]) for stage in found if stage in products]
        if not steps or None in steps:
            return None
        for segment in segments:
            if segment[0] not in products and not _walks_bounded(scheduled_sweeps(segment), dims):
                return None
        stage, attribute = next(iter(found.items()))
        zeros = {s: number for s in found if s in products and (number := _zeros(s, products[s]))}
        return BoundedBlock(
            dims,
            stage,
            attribute.bounds(stage.op.extents),
            lcm(*(s for s in steps if s)),
            zeros=zeros,
        )

    def with_counts(self, emit: Emitter, flat: Mapping[int, SSAValue]) -> BoundedBlock:
        """The same, once the numbers of the call are read; `flat` are the arguments in memory."""
        named = {d for b in self.bounds for d, _ in b.form.terms if d >= FIRST_COUNT}
        dims = sorted(named | set(self.zeros.values()))
        digits = [Digit(self.extent, dim - FIRST_COUNT) for dim in dims]
        ends = ends_of(emit, digits, flat)
        return replace(self, counts={d: end.end for d, end in zip(dims, ends, strict=True)})

    def range(self, emit: Emitter, env: Env, rows: tuple[Index, Index]) -> tuple[Index, Index]:
        """First position and end for rows `[low, high)` of the last row dimension."""
        row = self.stage.rows[-1]
        ends = {True: emit.minus(rows[1], 1), False: rows[0]}
        low: Index = 0
        high: Index = self.extent
        for bound in self.bounds:
            rises = bound.form.coefficient(row) > 0
            known = {**env, **self.counts, row: ends[rises == bound.is_upper]}
            at = emit.linear(bound.form, known)
            if bound.is_upper:
                high = emit.least(high, at)
            else:
                low = emit.most(low, at)
        low = emit.least(low, self.extent - 1)
        high = emit.most(high, emit.plus(low, 1))
        low = emit.times(emit.quotient(low, self.step), self.step)
        return low, emit.least(self._rounded(emit, high), self.extent)

    @property
    def count(self) -> int | None:
        """The argument at whose number all rows end alone, if they do."""
        (bound,) = self.bounds if len(self.bounds) == 1 else (None,)
        if bound is None or not bound.is_upper or not self.is_level:
            return None
        ((dim, step),) = bound.form.terms
        return dim - FIRST_COUNT if step == 1 and bound.form.constant == 0 else None

    def outside(self, emit: Emitter, stage: Stage, terms: tuple[Index, Index]) -> Index | None:
        """Where the terms of a product that are behind those in its bounds end: where all that is
        behind them is 0. None where those outside add nothing."""
        zeros = self.zeros.get(stage)
        if zeros is None:
            return self.extent
        if self.count == zeros - FIRST_COUNT:
            return None
        end = self._rounded(emit, self.counts[zeros])
        return emit.most(emit.least(end, self.extent), terms[1])

    def _rounded(self, emit: Emitter, position: Index) -> Index:
        """The first multiple of the step from a position on."""
        return emit.times(emit.quotient(emit.plus(position, self.step - 1), self.step), self.step)


def panels_of(emit: Emitter, limits: tuple[Index, Index], panel: int) -> tuple[Index, Index]:
    """First panel and end of a range of columns that begins at a panel."""
    low, high = limits
    return emit.quotient(low, panel), emit.quotient(emit.plus(high, panel - 1), panel)


def ends(emit: Emitter, stage: Stage, env: Env, bounds: tuple[Index, Index]) -> tuple[Index, Index]:
    """First position and end of what is within the bounds of one row, in a range of positions."""
    noted = _bounds(stage)
    first, last = bounds
    for bound in () if noted is None else noted.bounds(stage.op.extents):
        if any(dim >= FIRST_COUNT for dim, _ in bound.form.terms):
            continue  # the range of the block ends there
        at = emit.linear(bound.form, env)
        if bound.is_upper:
            last = emit.least(last, at)
        else:
            first = emit.most(first, at)
    return emit.least(first, bounds[1]), emit.most(last, bounds[0])


def balanced(emit: Emitter, number: Index, count: Index) -> Index:
    """Number `number` of `count` blocks, from both ends in turn.

    Of later rows, more keys count under a causal mask: so each thread, which takes neighbouring
    numbers, gets blocks of all lengths.
    """
    half, odd = emit.quotient(number, 2), emit.remainder(number, 2)
    from_end = emit.minus(emit.minus(count, 1), half)
    if isinstance(odd, int):
        return from_end if odd else half
    is_odd = emit.add(compare_op(odd, emit.value(0), "ne"))
    return emit.add(select_op(is_odd, emit.value(from_end), emit.value(half)))


def is_bounded(stage: Stage) -> bool:
    """Whether a mask says how far a nest goes."""
    return _bounds(stage) is not None


def _bounds(stage: Stage) -> BoundsAttr | None:
    found = stage.op.attributes.get(BOUNDS)
    return found if isinstance(found, BoundsAttr) else None


def _zeros(stage: Stage, shape: Contraction) -> int | None:
    """The number from which on the packed operand of a product is 0, along its bounded dimension
    if it sums over that."""
    noted = _bounds(stage)
    if noted is None or noted.dim.value.data not in shape.summed:
        return None
    numbers = zeros_along(stage.op, shape.b, noted.dim.value.data)
    return FIRST_COUNT + min(numbers) if numbers else None


def _step(stage: Stage, dim: int, shape: Contraction) -> int | None:
    """What ranges of a product's dimension are a multiple of; None if it cannot be cut."""
    panel = shape.panel or 1
    if dim == shape.inner_column:
        return panel
    wide = [d for d in shape.summed if stage.extents[d] != 1]
    return panel if wide == [dim] and has_pieces(shape) else None


def _walks_bounded(sweeps: Sequence[Sweep], dims: Mapping[Stage, int]) -> bool:
    """Whether each sweep with a nest goes along the bounded dimension first, or none does."""
    wide = [sweep for sweep in sweeps if sweep.extents]
    stages = [(sweep.order[s][0], dims.get(s)) for sweep in wide for s in sweep.stages]
    if not any(dim is not None for _, dim in stages):
        return True
    return all(first == dim for first, dim in stages)


__all__ = ["BoundedBlock", "balanced", "ends", "panels_of"]
