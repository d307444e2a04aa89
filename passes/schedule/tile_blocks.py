"""Products in matrix tiles in blocks of the sum, for tasks that pack their own columns.

Tiles are multiplied as fast as the nearest cache delivers them, and no faster than the next one
does. So a task takes so many terms of the sum at a time: it copies those of its rows, tile by tile,
packs those of its columns, and adds the products of all its tiles to sums that wait in scratch.
What it reads of a panel then stays in the nearest cache, and rows that are far apart do not fight
for places there.
"""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS, TILE_TERMS
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.pair_panels import PairPanels
from lamina.passes.schedule.stages import LOCAL_ROW, PANEL_START
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sum_blocks import AfterPanel, SumBlock, over_sum
from lamina.passes.schedule.tile_unit import (
    PAIR_ROW,
    PANEL_TILES,
    MatrixTiles,
    TilePlace,
    TileProducts,
)

TILE = TILE_ROWS * TILE_TERMS
"""Elements of a tile of the rows."""


class TileBlocks:
    """Emits one product stage for a task of `rows` rows at most by `panels` panels."""

    def __init__(
        self, product: PackedProduct, memory: Memory, emit: Emitter, panels: int, terms: int
    ) -> None:
        """So many `terms` of the sum are a block: a multiple of those of a tile."""
        shape = product.shape
        self.stage = product.stage
        self.memory = memory
        self.row, self.column, self.term = shape.inner_row, shape.inner_column, shape.summed[0]
        self.panels, self.terms = panels, terms
        self.unit = MatrixTiles(TILE_ROWS)
        self.height = -(-product.most // TILE_ROWS) * TILE_ROWS
        """Rows of whole tiles."""
        self.source = self.stage.reads[shape.a]
        self.columns = PairPanels(product, memory, emit, panels, terms)
        self.lines = emit.add(memref.AllocaOp.get(bf16, 64, [self.height * terms]))
        size = panels * self.height * TILE_PANEL
        self.sums = emit.add(memref.AllocaOp.get(f32, 64, [size]))

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
        first = panels[0]

        def block(inner: Emitter, terms: SumBlock) -> None:
            self._block(inner, env, rows, first, terms)

        over_sum(emit, self.stage.extents[self.term], self.terms, block, last_apart=False)
        masked = whole * TILE_PANEL < self.stage.extents[self.column]

        def panel(inner: Emitter, number: Index) -> None:
            start = inner.times(inner.plus(first, number), TILE_PANEL)
            self._store(inner, env, rows, start, number, masked=masked)
            if after_panel is not None:
                after_panel(inner, {**env, PANEL_START: start}, start)

        emit.each(0, self.panels, 1, panel)

    def _block(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        first: Index,
        terms: SumBlock,
    ) -> None:
        """The products of one block of the sum, from panel `first` on."""
        steps = -(-terms.count // TILE_TERMS)
        count = emit.quotient(emit.plus(emit.minus(rows[1], rows[0]), TILE_ROWS - 1), TILE_ROWS)
        self._copy(emit, env, rows, count, terms.low, terms.count)
        self.columns.pack(emit, env, first, terms.low, terms.count)
        unit = self.unit
        products = [(left, right) for left in (0, 1) for right in range(PANEL_TILES)]

        def tiles(inner: Emitter, panel: Index, at: Index) -> None:
            # A last tile that has no neighbour is multiplied twice, to the same result.
            own = [at, inner.least(inner.plus(at, 1), inner.minus(count, 1))]
            across = [inner.plus(inner.times(panel, PANEL_TILES), n) for n in range(PANEL_TILES)]
            places = [
                self._sums(inner, panel, inner.times(tile, TILE_ROWS), n)
                for tile in own
                for n in range(PANEL_TILES)
            ]
            begun = [
                value
                for place in places
                for value in (unit.zero(inner) if terms.is_first else unit.load(inner, place))
            ]

            def step(deeper: Emitter, term: Index, totals: list[SSAValue]) -> list[SSAValue]:
                rights = [self._right(deeper, tile, term) for tile in across]
                lefts = [self._left(deeper, tile, term) for tile in own]
                return unit.multiply(deeper, TileProducts(lefts, rights, products), totals)

            for place, total in zip(places, inner.loop(0, steps, 1, begun, step), strict=True):
                unit.store(inner, [total], place)

        def panel(inner: Emitter, number: Index) -> None:
            inner.each(0, count, 2, lambda deeper, at: tiles(deeper, number, at))

        emit.each(0, self.panels, 1, panel)

    def _sums(self, emit: Emitter, panel: Index, row: Index, tile: int) -> TilePlace:
        """Where the sums of a tile of columns of a panel are, from a row on."""
        start = emit.times(panel, self.height * TILE_PANEL)
        inside = emit.plus(emit.times(row, TILE_PANEL), tile * TILE_COLUMNS)
        return TilePlace(self.sums, emit.plus(start, inside), TILE_PANEL)

    def _left(self, emit: Emitter, tile: Index, step: Index) -> TilePlace:
        at = emit.plus(emit.times(tile, TILE_ROWS * self.terms), emit.times(step, TILE))
        return TilePlace(self.lines, at, TILE_TERMS)

    def _right(self, emit: Emitter, tile: Index, step: Index) -> TilePlace:
        at = emit.times(tile, self.columns.tile_stride)
        at = emit.plus(at, emit.times(step, TILE_TERMS // 2 * PAIR_ROW))
        return TilePlace(self.columns.paired, at, PAIR_ROW)

    def _copy(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        count: Index,
        low: Index,
        terms: int,
    ) -> None:
        """Rows of the block, tile by tile; the last one again instead of rows behind it."""
        form = self.memory.layout(self.source)
        flat = self.memory.flat[self.source.memory]
        kind = VectorType(bf16, [TILE_TERMS])
        whole = terms - terms % TILE_TERMS

        def line(inner: Emitter, number: Index) -> None:
            at = inner.least(inner.plus(rows[0], number), inner.minus(rows[1], 1))
            position = {**env, self.row: at, LOCAL_ROW: inner.minus(at, rows[0]), self.term: low}
            start = inner.linear(form, position)
            tile, within = inner.quotient(number, TILE_ROWS), inner.remainder(number, TILE_ROWS)
            target = inner.plus(
                inner.times(tile, TILE_ROWS * self.terms), inner.times(within, TILE_TERMS)
            )

            def move(deeper: Emitter, term: Index, mask: SSAValue | None) -> None:
                place = deeper.value(deeper.plus(start, term))
                if mask is None:
                    found = deeper.add(vector.LoadOp(flat, [place], kind))
                else:
                    zero = deeper.splat(FloatAttr(0.0, bf16), TILE_TERMS)
                    found = deeper.add(vector.MaskedLoadOp(flat, [place], mask, zero, kind))
                to = deeper.plus(target, deeper.times(deeper.quotient(term, TILE_TERMS), TILE))
                deeper.run(vector.StoreOp(found, self.lines, [deeper.value(to)]))

            def some(deeper: Emitter, term: Index) -> None:
                move(deeper, term, None)

            inner.each(0, whole, TILE_TERMS, some)
            if whole != terms:
                move(inner, whole, inner.first_lanes(terms - whole, TILE_TERMS))

        emit.each(0, emit.times(count, TILE_ROWS), 1, line)

    def _store(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        column: Index,
        number: Index,
        *,
        masked: bool,
    ) -> None:
        """Write the sums of the panel that begins at a column, for the rows that there are."""
        write = self.stage.writes[0]
        form, flat = self.memory.layout(write), self.memory.flat[write.memory]
        unit = form.coefficient(self.column)
        kind = VectorType(f32, [TILE_COLUMNS])
        masks: list[SSAValue | None] = [None] * PANEL_TILES
        if masked:
            left = emit.minus(self.stage.extents[self.column], column)
            masks = [
                emit.first_lanes(emit.minus(left, n * TILE_COLUMNS), TILE_COLUMNS)
                for n in range(PANEL_TILES)
            ]

        def row(inner: Emitter, at: Index) -> None:
            local = inner.minus(at, rows[0])
            position = {**env, self.column: column, PANEL_START: column, LOCAL_ROW: local}
            position[self.row] = at
            place = inner.linear(form, position)
            for n, mask in enumerate(masks):
                source = self._sums(inner, number, local, n)
                sums = inner.add(vector.LoadOp(self.sums, [inner.value(source.at)], kind))
                target = inner.plus(place, n * TILE_COLUMNS * unit)
                store(inner, sums, Elements(flat, target, unit, TILE_COLUMNS, mask))

        emit.each(*rows, 1, row)
