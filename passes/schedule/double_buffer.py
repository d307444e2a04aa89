"""Columns of a product in matrix tiles, packed beside the product of those in front of them.

Packing waits for memory, and tiles for the nearest cache. So there are two buffers, of a block of
the sum each: while one is multiplied, every step of every pair of tiles of rows packs a share of
the block behind it into the other one.
"""

from __future__ import annotations

from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.pair_panels import PairPanels
from lamina.passes.schedule.sum_blocks import SumBlock
from lamina.passes.schedule.tile_unit import PAIR_ROW, TilePlace


@record
class Position:
    """Which buffer is multiplied, whose terms begin at `low`, while terms from `start` on of a
    `panel` are packed into the other one."""

    buffer: Index
    low: Index
    panel: Index
    start: Index


class DoubleBuffer:
    """Two buffers of `panels`, for a sum of `extent` terms in blocks of `block` terms each.

    Both are multiples of the terms of a tile. Next to each panel are at most `tiles` pairs of tiles
    of rows. Terms so many `ahead` of those that are packed are fetched, if that is not 0: each is
    on a page of its own, where the hardware does not follow.
    """

    def __init__(self, panels: PairPanels, extent: int, block: int, tiles: int, ahead: int) -> None:
        self.panels = panels
        self.extent, self.block, self.ahead = extent, block, ahead
        self.share = -(-block // 2 // tiles)
        """Pairs of terms of the next block that are packed beside a pair of tiles of rows."""
        self.tiles = tiles
        self.last: Index = 0

    @property
    def blocks(self) -> int:
        """Blocks of the sum."""
        return -(-self.extent // self.block)

    def begin(self, emit: Emitter, env: Env, panels: tuple[Index, Index]) -> None:
        """Pack the first block of the first of a range of panels, which are multiplied in order."""
        self.last = emit.minus(panels[1], 1)
        buffer = emit.remainder(emit.times(panels[0], self.blocks), 2)
        self.panels.pack(emit, env, panels[0], 0, self.block, buffer)

    def position(self, emit: Emitter, panel: Index, terms: SumBlock) -> Position:
        """Where a block of a panel is, and what stands behind it.

        Behind the last panel that is the last one again, which nobody reads.
        """
        number = emit.quotient(terms.low, self.block)
        number = emit.plus(emit.times(panel, self.blocks), number)
        behind = emit.least(emit.plus(panel, 1), self.last) if terms.is_last else panel
        start = 0 if terms.is_last else emit.plus(terms.low, terms.count)
        return Position(emit.remainder(number, 2), terms.low, behind, start)

    def tile(self, emit: Emitter, here: Position, tile: int, term: Index) -> TilePlace:
        """A tile of the panel that is multiplied, at a term of the sum."""
        at = emit.times(emit.minus(term, here.low), TILE_COLUMNS)
        at = emit.plus(at, tile * self.panels.tile_stride)
        at = emit.plus(at, emit.times(here.buffer, self.panels.buffer_stride))
        return TilePlace(self.panels.paired, at, PAIR_ROW)

    def pack_beside(
        self, emit: Emitter, env: Env, here: Position, pair: Index, terms: SumBlock, at: Index
    ) -> None:
        """What a step of a pair of tiles of rows packs: its part of the share of that pair."""
        steps = terms.count // TILE_TERMS
        each = -(-self.share // steps)
        low = emit.times(pair, self.share)
        step = emit.quotient(emit.minus(at, terms.low), TILE_TERMS)
        first = emit.plus(low, emit.times(step, each))
        end = emit.plus(first, each)
        if each * steps != self.share:
            end = emit.least(end, emit.plus(low, self.share))
        if self.ahead:
            start = emit.plus(here.start, emit.plus(emit.times(first, 2), self.ahead))
            for term in range(2 * each):
                self.panels.fetch(emit, env, here.panel, emit.plus(start, term))
        self._pack(emit, env, here, first, end)

    def pack_rest(self, emit: Emitter, env: Env, here: Position, pairs: Index) -> None:
        """What is left of the next block after so many pairs of tiles of rows."""
        self._pack(emit, env, here, emit.times(pairs, self.share), self.block // 2)

    def _pack(self, emit: Emitter, env: Env, here: Position, first: Index, end: Index) -> None:
        """So many pairs of terms of the next block, as far as it has them."""
        if self.extent % self.block:
            left = emit.least(emit.minus(self.extent, here.start), self.block)
            end = emit.least(end, emit.quotient(left, 2))
        elif self.share * self.tiles != self.block // 2:
            end = emit.least(end, self.block // 2)
        buffer = emit.minus(1, here.buffer)
        self.panels.pack_pairs(emit, env, here.panel, here.start, (first, end), buffer)
