"""Products of bf16 in matrix tiles: two by two tiles of sums over the summed dimension.

One operand is packed in pairs, in tiles of sixteen rows or columns; the other is read as it stands
(see `lamina.passes.loop.pair_packing`). Where the rows are what is packed, a tile holds columns by
rows, and is turned in registers before it is stored.

A sum may be taken in blocks: what a block reads of a panel stays in the nearest cache for all rows,
whose sums wait in scratch. A pair of tiles has a place of its own there, by the number of the pair.
Rows are copied for the block that all panels of a task take then, whose columns are packed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.memory_ops import alloca_op
from lamina.dialects.loop.pairs import (
    TILE_PANEL,
    is_packed_in_tasks,
    paired_around,
    paired_outer,
    paired_term,
)
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS, TILE_TERMS
from lamina.passes.schedule.double_buffer import DoubleBuffer, Position
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct, PartOfSum
from lamina.passes.schedule.pair_panels import PairPanels
from lamina.passes.schedule.row_loops import RowLoops
from lamina.passes.schedule.row_operand import TileCopy
from lamina.passes.schedule.stages import LOCAL_ROW, ROW_START, TERM_START
from lamina.passes.schedule.sum_blocks import SumBlock, SumCut, over_sum
from lamina.passes.schedule.tile_operands import TileOperands
from lamina.passes.schedule.tile_results import PAIR_SUMS, Place, TileResults
from lamina.passes.schedule.tile_terms import ZeroTerms, over_terms, tile_cut
from lamina.passes.schedule.tile_unit import (
    PANEL_TILES,
    MatrixTiles,
    PairDots,
    TilePlace,
    TileProducts,
    tile_unit,
)


class TileProduct(TileOperands, TileResults):
    """Emits the tiles of one contraction stage that is packed in pairs."""

    def __init__(
        self,
        product: PackedProduct,
        memory: Memory,
        emit: Emitter,
        together: int,
        part: PartOfSum | None = None,
        lines: RowLoops | None = None,
    ) -> None:
        """Panels that are packed here are packed `together`, and so many are those of a task that
        walks `lines`.

        A part of the sum begins at a tile and ends at one or with the sum.
        """
        stage, shape = product.stage, product.shape
        assert shape.pairs is not None
        self.product = product
        self.stage = stage
        self.memory = memory
        self.column = shape.inner_column
        self.is_tiled = product.row is not None
        self.row = shape.inner_row if product.row is None else product.row
        self.term = paired_term(shape, shape.pairs)
        self.outer_terms = tuple(d for d in shape.summed if d != self.term)
        self.turned = shape.pairs == shape.a
        self.direct = stage.reads[1 - shape.pairs]
        self.source = stage.reads[shape.pairs]
        self.packs = is_packed_in_tasks(shape)
        self.together = together
        self.most = product.most
        self.unit = tile_unit(product)
        self.lines = lines or RowLoops()
        self.cut = self._line_cut()
        self.block_terms = self._block_terms()
        self.epilogue = None
        self.copy: TileCopy | None = None
        if stage.schedule.cache_read:
            terms = -(-self.block_terms // TILE_TERMS) * TILE_TERMS
            self.copy = TileCopy(emit, product, memory, terms)
            self.direct = self.copy.access
        self.first: Index = 0
        self.first_waiting: Index = 0
        """The first panel whose sums wait."""
        self.panels: PairPanels | None = None
        self.buffers = self._double_buffer(emit, part)
        if self.buffers is not None:
            self.outer: dict[int, int] = {}
            self.panels = self.buffers.panels
            self.paired, self.tile_stride = self.panels.paired, self.panels.tile_stride
        elif self.packs:
            self.outer = {}
            terms = stage.extents[self.term] if self.copy is None else self.block_terms
            self.panels = PairPanels(product, memory, emit, together, terms)
            self.paired, self.tile_stride = self.panels.paired, self.panels.tile_stride
        else:
            self.paired = memory.flat[self.source.memory]
            outer = paired_outer(shape, shape.pairs)
            strides = list(row_major_strides(self.source.shape))
            self.tile_stride = strides.pop(len(outer))
            dims = (*outer, *paired_around(shape, self.term))
            self.outer = dict(zip(dims, strides, strict=False))
        # The first lanes of a vector that is stored in part may be the last ones of a panel.
        self.sums = emit.add(alloca_op(f32, PAIR_SUMS + TILE_COLUMNS))
        self.columns_first = self.sums
        if self.turned:
            self.columns_first = emit.add(alloca_op(f32, PAIR_SUMS))
        self.waiting = self.sums
        if self.cut is not None or self.block_terms < stage.extents[self.term]:
            panels = 1 if self.copy is None and self.cut is None else together
            size = self.lines.count * self._pairs * PAIR_SUMS * panels
            self.waiting = emit.add(alloca_op(f32, size))
        self.tail = self.paired
        if stage.extents[self.term] % TILE_TERMS and self.copy is None:
            size = 2 * TILE_ROWS * TILE_TERMS
            self.tail = emit.add(alloca_op(bf16, size))
        if self.outer_terms and self.cut is None and (part or stage.schedule.terms is not None):
            raise illegal(stage.op, "terms: of a sum over one dimension")
        self.terms: tuple[Index, Index] = part.ends if part else (0, stage.extents[self.term])
        if part is not None and self.block_terms < stage.extents[self.term]:
            raise illegal(stage.op, "terms: not of a sum of which a part is added up at a time")
        self.zeros: ZeroTerms | None = None
        if part is not None and part.outside is not None:
            self.zeros = ZeroTerms(emit, part, stage.extents[self.term], self.unit)

    def _double_buffer(self, emit: Emitter, part: PartOfSum | None) -> DoubleBuffer | None:
        """Scratch for two blocks of a panel, if the next is to be packed beside the product."""
        if not self.stage.schedule.double_buffer:
            return None
        if not self.packs:
            raise illegal(self.stage.op, "double_buffer: of a product whose tasks pack its columns")
        if not isinstance(self.unit, MatrixTiles):
            raise illegal(self.stage.op, "double_buffer: of matrix tiles, not of vectors")
        if self.copy is not None:
            raise illegal(self.stage.op, "double_buffer: of rows that are not copied")
        extent, block = self.stage.extents[self.term], self.block_terms
        if part is not None or not self.is_tiled or extent % TILE_TERMS:
            raise illegal(
                self.stage.op,
                f"double_buffer: of tiles of rows, by a sum of a multiple of {TILE_TERMS} terms",
            )
        panels = PairPanels(self.product, self.memory, emit, 1, block, 2)
        ahead = self.stage.schedule.prefetch_rows or 0
        return DoubleBuffer(panels, extent, block, -(-self.most // self.span), ahead)

    @property
    def span(self) -> int:
        """Rows of the tiles that are multiplied side by side: two, if there are so many, and if
        the sums of two by those of a panel stay in registers."""
        height = self.tile_rows
        least = 2 if self._parts > 1 else 2 * PANEL_TILES
        two = self.most > height and self.unit.most >= least
        return 2 * height if two else height

    @property
    def _pairs(self) -> int:
        """Pairs of tiles of a panel, at most; those of packed rows begin at a tile in front."""
        return -(-(self.most + TILE_ROWS) // self.span)

    def _line_cut(self) -> SumCut | None:
        """The blocks of the sum that all lines of a task take before any takes the next one."""
        terms = self.stage.schedule.terms
        if terms is None or not self.lines.places:
            return None
        summed = self.product.summed
        extents = [self.stage.extents[d] for d in summed]
        cut = tile_cut(extents, summed.index(self.term), terms)
        if cut is None or self.turned or self.packs or isinstance(self.unit, PairDots):
            reason = f"of matrix tiles, by panels that are packed, whole tiles of {TILE_TERMS}"
            sizes = " x ".join(map(str, extents))
            raise illegal(self.stage.op, f"terms = {terms}: {reason} of a sum over {sizes}")
        return cut

    def _block_terms(self) -> int:
        """Terms of the sum that all tiles of a panel take before any takes those behind them."""
        extent, terms = self.stage.extents[self.term], self.stage.schedule.terms
        if terms is None or self.cut is not None:
            return extent
        if terms % TILE_TERMS:
            raise illegal(self.stage.op, f"terms = {terms}: a multiple of {TILE_TERMS}")
        return min(terms, extent)

    @property
    def packing(self) -> TileProduct | None:
        """What packs panels in front of their products, if they are not packed."""
        return self if self.packs and self.buffers is None else None

    def begin(self, emit: Emitter, env: Env, panels: tuple[Index, Index]) -> None:
        """What comes in front of a range of panels."""
        self.first_waiting = panels[0]
        if self.buffers is not None:
            self.buffers.begin(emit, env, panels)

    def block(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        panel: Index,
        block: SumBlock,
        *,
        masked: bool,
    ) -> None:
        """All tiles of one panel for rows `[low, high)`, and the terms of a block.

        Rows packed in pairs begin at a tile, and a last tile is filled with zeros; one of copied
        rows, with the last of them. Otherwise the last tile is moved up to end at the block's end:
        its overlap is computed twice.
        """
        low, high = rows
        width = self.stage.extents[self.column] % TILE_PANEL if masked else TILE_PANEL
        first: Index = low
        if not self.is_tiled:
            low = env.get(self.row, 0)
            first, high = low, emit.plus(low, 1)
        height = self.tile_rows
        if self.turned:
            low = emit.times(emit.quotient(low, TILE_ROWS), TILE_ROWS)
        count, span = self.span // height, self.span
        first_pair: Index = 0
        if self.copy is not None:
            first_pair = emit.times(emit.minus(panel, self.first), self._pairs)
        if self.cut is not None:
            number = emit.times(emit.minus(panel, self.first_waiting), self.lines.count)
            number = emit.plus(number, emit.quotient(env[ROW_START], self.lines.length))
            first_pair = emit.times(number, self._pairs)
        if self.zeros is not None:
            self._add_zero_terms(emit, env, panel, -(-width // TILE_COLUMNS))

        def sums(outer: Emitter, terms: SumBlock) -> None:
            buffers = self.buffers
            here = None if buffers is None else buffers.position(outer, panel, terms)

            def tiles(inner: Emitter, at: Index) -> None:
                last = inner.minus(high, height)
                if self.turned or self.copy is not None:
                    begin = 0 if self.turned else low
                    last = inner.quotient(inner.minus(inner.minus(high, 1), begin), TILE_ROWS)
                    last = inner.plus(inner.times(last, TILE_ROWS), begin)
                starts = [inner.least(inner.plus(at, n * height), last) for n in range(count)]
                if count == 1 and self.turned:
                    starts = [at]
                pair = inner.plus(first_pair, inner.quotient(inner.minus(at, low), span))
                place = Place((first, high), pair, starts, panel, width)
                self._tiles(inner, {**env, TERM_START: block.low}, place, terms, here)

            outer.each(low, high, span, tiles)
            if buffers is not None and here is not None:
                done = outer.quotient(outer.plus(outer.minus(high, low), span - 1), span)
                buffers.pack_rest(outer, env, here, done)

        if self.copy is not None or self.cut is not None:
            sums(emit, block)
        else:
            cut = SumCut(0, self.block_terms)
            over_sum(emit, [block.count], cut, lambda inner, _, terms: sums(inner, terms))

    def _tiles(
        self, emit: Emitter, env: Env, place: Place, terms: SumBlock, here: Position | None
    ) -> None:
        """A pair of tiles of rows by those of a panel; `here` says where it is in two buffers."""
        first, across = emit.times(place.pair, PAIR_SUMS), -(-place.width // TILE_COLUMNS)
        if terms.is_last:
            self._fetch(emit, env, place)
        for numbers, part in self._side_by_side(place):
            slots = {
                n: TilePlace(self.waiting, emit.plus(first, self._offset(slot, part)), TILE_COLUMNS)
                for n in numbers
                for slot in [n // across * PANEL_TILES + n % across]
            }
            self._sums(emit, env, place, terms, here, slots, part)
        if terms.is_last:
            self._write(emit, env, place)

    def _sums(
        self,
        emit: Emitter,
        env: Env,
        place: Place,
        terms: SumBlock,
        here: Position | None,
        slots: dict[int, TilePlace],
        part: int,
    ) -> None:
        """The sums of a part of some tiles of a place, by number, which wait in `slots`."""
        unit, buffers = self.unit, self.buffers
        across = -(-place.width // TILE_COLUMNS)
        begun = [
            value
            for number, slot in slots.items()
            for value in (
                self._start(emit, number % across) if terms.is_first else unit.load(emit, slot)
            )
        ]
        rows = sorted({number // across for number in slots})
        columns = sorted({number % across for number in slots})
        products = [(rows.index(n // across), columns.index(n % across)) for n in slots]
        if self.turned:
            products = [(column, row) for row, column in products]
            starts = self._columns(emit, place.panel, place.width)
            tiles = [emit.quotient(place.starts[row], TILE_ROWS) for row in rows]
            places: list[Env] = [
                {self.column: emit.plus(starts[column], part * unit.height)} for column in columns
            ]
        else:
            panel = emit.times(emit.minus(place.panel, self.first), PANEL_TILES)
            tiles = [emit.plus(panel, column) for column in columns]
            low = place.rows[0]
            places = [
                {self.row: start, LOCAL_ROW: emit.minus(start, low)}
                for start in (place.starts[row] for row in rows)
            ]

        def dots(
            inner: Emitter,
            at: Index,
            sums: list[SSAValue],
            partly: bool,
            around: Env = env,
        ) -> list[SSAValue]:
            if buffers is not None and here is not None:
                rights = [buffers.tile(inner, here, column, at) for column in columns]
            else:
                rights = [self._paired(inner, around, tile, at) for tile in tiles]
            lefts = [
                self._direct(inner, {**around, **place, self.term: at}, number, partly)
                for number, place in enumerate(places)
            ]
            return unit.multiply(inner, TileProducts(lefts, rights, products), sums)

        def step(inner: Emitter, at: Index, sums: list[SSAValue]) -> list[SSAValue]:
            if buffers is not None and here is not None:
                buffers.pack_beside(inner, env, here, place.pair, terms, at)
            return dots(inner, at, sums, False)

        if terms.is_first and terms.is_last and buffers is None:
            sums = self._whole_sums(emit, env, begun, dots)
            self._finish(emit, env, place, list(slots), part, sums)
            return
        if self.cut is not None:
            sums = self._whole_sums(emit, env, begun, dots, terms)
        else:
            end = emit.plus(terms.low, terms.count - terms.count % TILE_TERMS)
            sums = emit.loop(terms.low, end, TILE_TERMS, begun, step)
            if terms.count % TILE_TERMS:
                sums = dots(emit, end, sums, True)
        if terms.is_last:
            self._finish(emit, env, place, list(slots), part, sums)
            return
        for number, slot in enumerate(slots.values()):
            unit.store(emit, sums[number * unit.values : (number + 1) * unit.values], slot)

    def _whole_sums(
        self,
        emit: Emitter,
        env: Env,
        begun: list[SSAValue],
        dots: Callable[..., list[SSAValue]],
        block: SumBlock | None = None,
    ) -> list[SSAValue]:
        """The sums of some tiles over all terms, for each position of those that are outer ones.

        Of a block, `env` has the positions of the dimensions in front of the one that is cut.
        """
        extents = self.stage.extents
        ranges: dict[int, tuple[Index, Index]] = {d: (0, extents[d]) for d in self.outer_terms}
        ranges[self.term] = self.terms
        if self.cut is not None and block is not None:
            in_front = self.product.summed[: self.cut.place]
            ranges = {d: ends for d, ends in ranges.items() if d not in in_front}
            cut = self.product.summed[self.cut.place]
            ranges[cut] = block.low, emit.plus(block.low, block.count)
        terms, outer = ranges.pop(self.term), list(ranges)

        def point(inner: Emitter, at: list[Index], sums: list[SSAValue]) -> list[SSAValue]:
            around = {**env, **dict(zip(outer, at, strict=True))}
            step = partial(dots, around=around)
            return over_terms(inner, terms, extents[self.term], sums, step)

        return emit.nest(list(ranges.values()), begun, point)

    def pack(self, emit: Emitter, env: Env, first: Index, block: SumBlock) -> None:
        """Pack the columns of as many panels as are packed together, from panel `first` on."""
        assert self.panels is not None
        self.first = first
        self.panels.pack(emit, env, first, block.low, block.count)
