"""Kernels that walk a long dimension in blocks, as attention its keys: memory for one block a row.

Each block runs all stages along the dimension: a product into scratch, row stages on it, and
products that sum it up. What they reduce is joined with what the blocks before have left: numbers
of each row, and rows of sums. Where a row's maximum rises, sums of weights less it are scaled.
Weights are less 0 while all scores are -inf, so that these count as nothing; rows that end so are
NaN throughout, as exp(-inf - -inf) is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import load_op, store_op
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.scalar_ops import compare_op, select_op
from lamina.dialects.loop.tiles import TILE_COLUMNS
from lamina.passes.schedule.body import broadcast
from lamina.passes.schedule.bounded_sweep import BoundedSegment, BoundedSweepEmitter
from lamina.passes.schedule.combine import combine, store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.packed_product import PartOfSum
from lamina.passes.schedule.peel import mask_below
from lamina.passes.schedule.product import ProductEmitter
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.product_task import TaskDomain, tile_of
from lamina.passes.schedule.register_tile import Tile
from lamina.passes.schedule.row_epilogue import RowEpilogue
from lamina.passes.schedule.row_loops import RowLoops
from lamina.passes.schedule.rows import RowSegment
from lamina.passes.schedule.stages import LOCAL_ROW, Access, Stage
from lamina.passes.schedule.stream_plan import BLOCK_START
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sweep import SweepEmitter
from lamina.passes.schedule.tile_product import TileProduct
from lamina.passes.schedule.tile_unit import tile_unit


class StreamedProduct(RowEpilogue):
    """Blocks of rows that walk a dimension in blocks."""

    def __init__(self, emit: Emitter, plan: ProductPlan, memory: Memory, lines: RowLoops) -> None:
        super().__init__(emit, plan, memory, lines)
        assert plan.stream is not None
        self.plan = plan.stream
        self.factors: SSAValue | None = None
        """By which a row's sums were scaled for the block at hand, for each row."""
        self.parts: dict[Stage, SSAValue] = {}
        """Scratch for the sums of one block alone, for each product that sums it up."""

    def task(self, emit: Emitter, domain: TaskDomain) -> None:
        envs, rows = domain.envs, domain.rows
        plan = self.plan
        limits: tuple[Index, Index] = (0, self._extent())
        if self.bounded is not None:
            limits = self.bounded.range(emit, envs[self.bounded.stage], rows)
        scratch = self._place(emit)
        self._place_blocks(emit)
        groups: list[list[Sequence[Stage]]] = [[], [], []]
        for segment in scratch.segments:
            place = 1 if segment[0] in plan.dims else 2 if segment[0] in plan.after else 0
            groups[place].append(segment)
        for segment in groups[0]:
            self._segment(emit, segment, envs, rows, {}, None)
        self._begin(emit, envs, rows, limits)

        def block(inner: Emitter, at: Index) -> None:
            ends = at, inner.least(inner.plus(at, plan.block), limits[1])
            own = {s: {**env, BLOCK_START: at} for s, env in envs.items()}
            for segment in groups[1]:
                self._segment(inner, segment, own, rows, plan.dims, ends)

        emit.each(*limits, plan.block, block)
        self._end(emit, envs, rows)
        for segment in groups[2]:
            self._segment(emit, segment, envs, rows, {}, None)

    def _extent(self) -> int:
        stage, dim = next(iter(self.plan.dims.items()))
        return stage.extents[dim]

    def _place_blocks(self, emit: Emitter) -> None:
        """Scratch for blocks begins at their first position; reductions have their own places."""
        memory, plan = self.memory, self.plan
        for stage in plan.along:
            for write in stage.writes:
                strides = memory.scratch.get(write.memory, {})
                for axis, stride in strides.items():
                    if write.axes[axis].coefficient(plan.dims[stage]):
                        memory.shift[write.memory] = Linear(((BLOCK_START, -stride),))
        for stage in plan.joins:
            for write in stage.writes:
                if write.memory not in self.outputs and write.memory not in memory.flat:
                    memory.scratch[write.memory] = {}
                    memory.local_row[write.memory] = 1
                    memory.flat[write.memory] = self._alloca(emit, write.element, 1)
            if stage in self.products:
                write = stage.writes[0]
                pitch = memory.local_row[write.memory]
                self.parts[stage] = self._alloca(emit, write.element, pitch)
        if plan.top is not None:
            self.factors = self._alloca(emit, plan.top.writes[0].element, 1)

    def _tile(self, stage: Stage) -> Tile:
        product = self.packed(stage)
        if product.shape.pairs is not None:
            height = tile_unit(product).height
            return Tile(height, TILE_PANEL // TILE_COLUMNS, TILE_COLUMNS)
        return tile_of(product)

    # One block

    def _part_of_sum(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        terms: tuple[Index, Index],
    ) -> None:
        """The sums of a block alone, then joined with those of the blocks before it."""
        panels = 0, self.packed(stage).panels
        memory = stage.writes[0].memory
        total = self.memory.flat[memory]
        self.memory.flat[memory] = self.parts[stage]
        self.product(emit, stage, env, rows, panels, part=PartOfSum(terms))
        self.memory.flat[memory] = total
        self._join_rows(emit, stage, rows)

    def _join_rows(self, emit: Emitter, stage: Stage, rows: tuple[Index, Index]) -> None:
        """Add the sums of a block to the totals, which are scaled first."""
        write = stage.writes[0]
        part, total = self.parts[stage], self.memory.flat[write.memory]
        scales = self.plan.joins[stage] == "rescale"
        lanes = self._tile(stage).lanes
        pitch = self.memory.local_row[write.memory]
        kind = VectorType(write.element, [lanes])

        def row(inner: Emitter, at: Index) -> None:
            factor = None
            if scales:
                assert self.factors is not None
                one = inner.add(load_op(self.factors, [inner.value(at)]))
                factor = broadcast(inner, one, lanes)
            start = inner.times(at, pitch)

            def some(deeper: Emitter, step: Index) -> None:
                place = [deeper.value(deeper.plus(start, step))]
                new = deeper.add(vector.LoadOp(part, place, kind))
                old = deeper.add(vector.LoadOp(total, place, kind))
                if factor is None:
                    made = combine(deeper, "add", old, new)
                else:
                    made = deeper.add(vector.FMAOp(old, factor, new))
                deeper.run(vector.StoreOp(made, total, place))

            inner.each(0, pitch - pitch % lanes, lanes, some)

        emit.each(0, emit.minus(rows[1], rows[0]), 1, row)

    def _row_segment(
        self, sweeps: Sequence[Sweep], bounds: tuple[Index, Index] | None
    ) -> RowSegment:
        if sweeps[0].stages[0] not in self.plan.dims:
            return super()._row_segment(sweeps, bounds)
        segment = StreamedSegment(sweeps, self.memory, self.outputs)
        segment.product = self
        return segment

    # Before the first block and after the last

    def _begin(
        self,
        emit: Emitter,
        envs: Envs,
        rows: tuple[Index, Index],
        limits: tuple[Index, Index],
    ) -> None:
        """Totals of nothing; products have the terms outside of the bounds, which are zeros."""
        numbers = [(s, w, c) for s, w, c in self._totals() if s not in self.products]

        def row(inner: Emitter, at: Index) -> None:
            own = self._at_row(inner, envs, at, rows)
            for stage, write, combiner in numbers:
                identity = inner.constant(identity_value(combiner, write.element))
                self.memory.write(inner, write, own[stage], identity)

        emit.each(*rows, 1, row)
        for stage in self.plan.joins:
            if stage in self.products:
                self._begin_product(emit, stage, envs[stage], rows, limits)

    def _begin_product(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        limits: tuple[Index, Index],
    ) -> None:
        shape, write = self.products[stage], stage.writes[0]
        panel = shape.panel or 1
        tile = self._tile(stage)
        begin = self._zero_terms(emit, stage, tile, limits)
        total, form = self.memory.flat[write.memory], self.memory.layout(write)
        columns = stage.extents[shape.inner_column]
        for number in range(-(-columns // panel)):
            start = begin(emit, env, number)

            def row(
                inner: Emitter,
                at: Index,
                start: list[SSAValue] = start,
                first: int = number * panel,
            ) -> None:
                # The columns may be some of a row's: heads stand side by side.
                own = self._at_row(inner, {stage: env}, at, rows)[stage]
                for column in range(first, min(first + panel, columns), tile.lanes):
                    value = start[(column - first) // tile.lanes]
                    place = inner.linear(form, {**own, shape.inner_column: column})
                    mask = None
                    if column + tile.lanes > columns:
                        mask = mask_below(inner, columns, column, tile.lanes)
                    store(inner, value, Elements(total, place, 1, tile.lanes, mask))

            emit.each(*rows, 1, row)

    def _zero_terms(
        self, emit: Emitter, stage: Stage, tile: Tile, limits: tuple[Index, Index]
    ) -> Callable[[Emitter, Env, int], list[SSAValue]]:
        """What gives the vectors of a panel with which the sums of each row begin."""
        product, part = self.packed(stage), PartOfSum(limits)
        if self.bounded is not None:
            part = PartOfSum(limits, self.bounded.outside(emit, stage, limits))
        if product.shape.pairs is None:
            return ProductEmitter(product, self.memory, tile, part).zero_terms
        return TileProduct(product, self.memory, emit, 1, part).zero_vectors

    def _end(self, emit: Emitter, envs: Envs, rows: tuple[Index, Index]) -> None:
        """Totals of weights in rows without a number or an infinity: NaN."""
        top = self.plan.top
        if top is None:
            return
        scaled = [t for t in self._totals() if self.plan.joins[t[0]] == "rescale"]

        def row(inner: Emitter, at: Index) -> None:
            own = self._at_row(inner, envs, at, rows)
            largest = self.memory.read(inner, top.writes[0], own[top])
            least = inner.number(-inf, top.writes[0].element)
            nothing = inner.add(compare_op(largest, least, "oeq"))

            def spoil(deeper: Emitter) -> None:
                for stage, write, _ in scaled:
                    value = deeper.number(nan, write.element)
                    if stage in self.products:
                        self._fill(deeper, write, own[stage][LOCAL_ROW], value)
                    else:
                        self.memory.write(deeper, write, own[stage], value)

            inner.branch(nothing, spoil)

        emit.each(*rows, 1, row)

    def _fill(self, emit: Emitter, write: Access, row: Index, value: SSAValue) -> None:
        """Every element of a row of a product."""
        flat, pitch = self.memory.flat[write.memory], self.memory.local_row[write.memory]
        start = emit.times(row, pitch)

        def one(inner: Emitter, at: Index) -> None:
            inner.run(store_op(value, flat, [inner.value(inner.plus(start, at))]))

        emit.each(0, pitch, 1, one)

    def _totals(self) -> list[tuple[Stage, Access, str]]:
        """What is reduced along the dimension: the stage, its write and combiner."""
        return [
            (stage, write, combiner)
            for stage in self.plan.joins
            for write, combiner in zip(stage.writes, stage.combiners, strict=True)
        ]


class StreamedSegment(BoundedSegment):
    """The sweeps of a row for one block; `scaling` is what sums of weights are scaled by in it."""

    product: StreamedProduct
    scaling: SSAValue | None = None

    def _emitter(self, kind: type[SweepEmitter], sweep: Sweep) -> SweepEmitter:
        emitter = super()._emitter(StreamedSweepEmitter if kind is SweepEmitter else kind, sweep)
        assert isinstance(emitter, StreamedSweepEmitter)
        emitter.segment = self
        return emitter


class StreamedSweepEmitter(BoundedSweepEmitter):
    """A sweep whose reductions go on from block to block."""

    segment: StreamedSegment

    def _keep(self, emit: Emitter, env: Env, stage: Stage, number: int, total: SSAValue) -> None:
        plan, access = self.segment.product.plan, stage.writes[number]
        at = emit.value(self.memory.offset(emit, access, env, None))
        flat = self.memory.flat[access.memory]
        old = emit.add(load_op(flat, [at]))
        join = plan.joins[stage]
        if join == "rescale":
            scaling = self.segment.scaling
            assert scaling is not None
            old = emit.add(arith.MulfOp(old, scaling))
        new = combine(emit, stage.combiners[number], old, total)
        self.memory.scalars[access.memory] = new
        if join == "raise":
            self._raise(emit, env, access, old, new)
        emit.run(store_op(new, flat, [at]))

    def _raise(self, emit: Emitter, env: Env, access: Access, old: SSAValue, new: SSAValue) -> None:
        """Note by what sums of weights are scaled, and what weights are less from now on."""
        one, zero = (emit.number(n, access.element) for n in (1.0, 0.0))
        same = emit.add(compare_op(old, new, "oeq"))
        apart = emit.add(math.ExpOp(emit.add(arith.SubfOp(old, new))))
        factor = emit.add(select_op(same, one, apart))
        nothing = emit.add(compare_op(new, emit.number(-inf, access.element), "oeq"))
        self.memory.scalars[access.memory] = emit.add(select_op(nothing, zero, new))
        self.segment.scaling = factor
        factors = self.segment.product.factors
        assert factors is not None
        emit.run(store_op(factor, factors, [emit.value(env[LOCAL_ROW])]))


__all__ = ["StreamedProduct"]
