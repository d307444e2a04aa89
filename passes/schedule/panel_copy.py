"""Panels of the column operand that a task packs for itself (see `pack-in-tasks`).

They stand in scratch of the task, which stays in the second-level cache. Where neighbours in memory
are neighbouring columns, lines of them are copied; where they follow one another in the sum,
squares of vectors are turned in registers. Half floats are widened on the way.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, vector_store_op
from lamina.passes.schedule.body import load
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.peel import whole_steps
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sum_blocks import SumBlock
from lamina.passes.schedule.transpose import turn


class PanelCopy:
    """Packs `together` panels of the product of one stage at a time."""

    def __init__(
        self,
        product: PackedProduct,
        memory: Memory,
        emit: Emitter,
        lanes: int,
        together: int,
        columns: Index | None = None,
    ) -> None:
        """`lanes` elements make a vector of a panel; as many terms of it are packed as a block of
        the sum has, or all. Columns may end in a call: none behind is read."""
        stage, shape = product.stage, product.shape
        self.stage = stage
        self.memory = memory
        self.lanes = lanes
        self.together = together
        self.width = product.panel
        self.column = shape.inner_column
        self.term = product.summed[0]
        self.source = stage.reads[shape.b]
        self.element = stage.reads[shape.a].element
        extent = stage.extents[self.column]
        self.columns: Index = extent if columns is None else columns
        self.is_whole = columns is None and extent % self.width == 0
        """Whether no panel has columns that are not there."""
        self.first: Index = 0
        self.low: Index = 0
        """The first panel, and the first term, that are packed."""
        terms = stage.schedule.terms or stage.extents[self.term]
        # Squares of vectors may reach behind the last term that a call has.
        self.size = -(-terms // lanes) * lanes * self.width
        """Elements of a panel."""
        kind = alloca_op(self.element, self.size * self.together)
        self.panels = emit.add(kind)

    def pack(self, emit: Emitter, env: Env, first: Index, block: SumBlock) -> None:
        """Emit the packing of as many panels as are packed together, from panel `first` on.

        Of each the terms of a block of the sum are packed.
        """
        self.first, self.low, terms = first, block.low, block.taken
        along_columns = self.source.stride(self.column) == 1

        def one(inner: Emitter, number: Index) -> None:
            self._turn_panel(inner, env, number, terms)

        if along_columns:
            self._copy_lines(emit, env, terms)
        else:
            emit.each(0, self.together, 1, one)

    def _start(self, emit: Emitter, env: Env, column: Index, term: Index) -> Index:
        form, place = self.memory.layout(self.source), emit.plus(self.low, term)
        return self.memory.at(emit, form, {**env, self.column: column, self.term: place})

    def _load(self, emit: Emitter, at: Index, mask: SSAValue | None) -> SSAValue:
        """Neighbouring elements as the product takes them."""
        flat = self.memory.flat[self.source.memory]
        given = load(emit, Elements(flat, at, 1, self.lanes, mask)).value
        if self.source.element == self.element:
            return given
        return emit.add(arith.ExtFOp(given, VectorType(self.element, [self.lanes])))  # pyright: ignore

    def _copy_lines(self, emit: Emitter, env: Env, terms: Index) -> None:
        """Each position of the sum in turn, across all panels."""
        start = emit.times(self.first, self.width)

        def line(inner: Emitter, term: Index) -> None:
            for offset in range(0, self.together * self.width, self.lanes):
                column = inner.plus(start, offset)
                mask = None
                if not self.is_whole:
                    mask = inner.first_lanes(inner.minus(self.columns, column), self.lanes)
                row = self._load(inner, self._start(inner, env, column, term), mask)
                panel, lane = divmod(offset, self.width)
                at = inner.plus(inner.times(term, self.width), panel * self.size + lane)
                inner.run(vector_store_op(row, self.panels, inner.value(at)))

        emit.each(0, terms, 1, line)

    def _turn_panel(self, emit: Emitter, env: Env, number: Index, terms: Index) -> None:
        """One panel, whose columns are read along the sum."""
        whole = whole_steps(emit, 0, terms, self.lanes)
        base = emit.times(number, self.size)
        start = emit.times(emit.plus(self.first, number), self.width)

        def squares(inner: Emitter, term: Index, count: Index) -> None:
            for offset in range(0, self.width, self.lanes):
                self._turn(inner, env, (start, offset), term, count, base)

        def step(inner: Emitter, term: Index) -> None:
            squares(inner, term, self.lanes)

        emit.each(0, whole, self.lanes, step)
        if isinstance(whole, int) and isinstance(terms, int):
            if whole != terms:
                squares(emit, whole, terms - whole)
            return
        emit.each(whole, terms, self.lanes, lambda i, at: squares(i, at, i.minus(terms, at)))

    def _turn(
        self,
        emit: Emitter,
        env: Env,
        place: tuple[Index, int],
        term: Index,
        count: Index,
        base: Index,
    ) -> None:
        """A square of as many columns as a vector has lanes, and of `count` terms.

        Instead of columns behind the last one, that one is read again. Where calls say how many
        terms there are, zeros are stored behind them.
        """
        start, offset = place
        mask = None if count == self.lanes else emit.first_lanes(count, self.lanes)
        rows: list[SSAValue] = []
        for lane in range(offset, offset + self.lanes):
            column = emit.plus(start, lane)
            if not self.is_whole:
                column = emit.least(column, emit.minus(self.columns, 1))
            rows.append(self._load(emit, self._start(emit, env, column, term), mask))
        stored = count if isinstance(count, int) else self.lanes
        for number, row in enumerate(turn(emit, rows)[:stored]):
            at = emit.plus(emit.times(emit.plus(term, number), self.width), offset)
            at = emit.plus(at, base)
            emit.run(vector_store_op(row, self.panels, emit.value(at)))
