"""Products in register tiles that take their sums in blocks, for long sums.

A panel and rows of many terms leave the caches before they are read again. So a task takes so many
terms of the sum at a time: it copies those of its rows, walks all its panels, and leaves the sums
of each tile in scratch for the next block. The last block adds them up and stores the result.
"""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from lamina.passes.schedule.combine import combine
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.product import ProductEmitter, Tile, TilePosition
from lamina.passes.schedule.row_operand import RowCopy
from lamina.passes.schedule.stages import LOCAL_ROW, PANEL_START, TERM_START
from lamina.passes.schedule.sum_blocks import AfterPanel, SumBlock, over_panels, over_sum


class ProductBlocks(ProductEmitter):
    """Emits one product stage for a task of `rows` rows at most by `panels` panels."""

    def __init__(
        self,
        product: PackedProduct,
        memory: Memory,
        emit: Emitter,
        tile: Tile,
        panels: int,
        packing: PanelCopy | None,
    ) -> None:
        """So many `terms` of the sum as the schedule says are a block.

        `packing` packs that much of the panels, where the task does so itself.
        """
        super().__init__(product, memory, tile, packing=packing)
        schedule = product.stage.schedule
        assert product.row is not None and schedule.terms is not None  # as verified
        self.row, self.size = product.row, schedule.terms
        (self.term,) = self.summed
        slots = -(-product.most // tile.rows) * tile.rows
        self.pitch = slots * tile.panel
        """Sums of a panel: those of each tile follow one another."""
        self.sums = emit.add(memref.AllocaOp.get(self.element, 64, [panels * self.pitch]))
        self.copy: RowCopy | None = None
        if schedule.cache_read:
            self.copy = RowCopy(emit, product, memory, tile.lanes, self.size)
            self.left = self.copy.access

    def emit_task(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        whole: int,
        after_panel: AfterPanel | None,
    ) -> None:
        """All tiles of these rows and panels; those from panel `whole` on are stored in part."""

        def block(inner: Emitter, terms: SumBlock) -> None:
            self._block(inner, env, rows, panels, whole, terms, after_panel)

        extent = self.stage.extents[self.term]
        over_sum(emit, extent, self.size, block, last_apart=True)

    def _block(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        whole: int,
        terms: SumBlock,
        after_panel: AfterPanel | None,
    ) -> None:
        if self.copy is not None:
            self.copy.copy(emit, env, rows, terms.low, terms.count)

        def panel(inner: Emitter, at: Index, masked: bool = False) -> None:
            start = inner.times(at, self.tile.panel)
            position = {**env, PANEL_START: start}
            number = inner.minus(at, panels[0])
            self._panel(inner, position, rows, at, number, terms, masked=masked)
            if terms.is_last and after_panel is not None:
                after_panel(inner, position, start)

        def walk(inner: Emitter, first: Index, last: Index) -> None:
            over_panels(inner, (first, last), whole if terms.is_last else None, panel)

        def group(inner: Emitter, at: Index) -> None:
            assert self.packing is not None
            self.packing.pack(inner, env, at, terms.low, terms.count)
            walk(inner, at, inner.plus(at, self.packing.together))

        if self.packing is None:
            walk(emit, *panels)
        else:
            emit.each(*panels, self.packing.together, group)

    def _panel(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        panel: Index,
        number: Index,
        terms: SumBlock,
        *,
        masked: bool,
    ) -> None:
        """The tiles of the `number`-th panel of the task.

        A last tile is moved up to end with the rows; its sums have a place of their own.
        """
        height, (low, high) = self.tile.rows, rows

        def tile(inner: Emitter, first: Index) -> None:
            row = inner.least(first, inner.minus(high, height))
            position = {**env, self.row: row, LOCAL_ROW: inner.minus(row, low)}
            position[TERM_START] = terms.low
            at = TilePosition(position, self.row, height, panel)
            totals = self._products(inner, at, terms)
            place = inner.plus(
                inner.times(number, self.pitch),
                inner.times(inner.minus(first, low), self.tile.panel),
            )
            if not terms.is_first:
                kept = self._kept(inner, place, len(totals))
                totals = [combine(inner, "add", *both) for both in zip(kept, totals, strict=True)]
            if terms.is_last:
                self._store(inner, at, totals, masked=masked)
                return
            for n, total in enumerate(totals):
                at_sum = inner.value(inner.plus(place, n * self.tile.lanes))
                inner.run(vector.StoreOp(total, self.sums, [at_sum]))

        emit.each(low, high, height, tile)

    def _products(self, emit: Emitter, at: TilePosition, terms: SumBlock) -> list[SSAValue]:
        """The sums of one tile over the terms of the block."""
        zero = emit.splat(number_attribute(0.0, self.element), self.tile.lanes)
        self.terms = terms.low, emit.plus(terms.low, terms.count)
        start = [zero] * (self.tile.rows * self.tile.vectors)
        return self._terms(emit, at, self.summed, self.terms, start)

    def _kept(self, emit: Emitter, place: Index, count: int) -> list[SSAValue]:
        kind = VectorType(self.element, [self.tile.lanes])
        places = [emit.value(emit.plus(place, n * self.tile.lanes)) for n in range(count)]
        return [emit.add(vector.LoadOp(self.sums, [at], kind)) for at in places]
