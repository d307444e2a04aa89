"""Ranges of the terms of a product in matrix tiles: the loop over them, and what is outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS, TILE_TERMS
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.packed_product import PartOfSum
from lamina.passes.schedule.sum_blocks import SumCut
from lamina.passes.schedule.tile_unit import TilePlace, TileProducts, TileUnit

TileStep = Callable[[Emitter, Index, list[SSAValue], bool], list[SSAValue]]
"""The sums after a tile of terms, and whether that is filled only in part."""
PairedTile = Callable[[Emitter, int, Index], TilePlace]
"""Of a panel, the tile by number that is packed in pairs, at a term."""


def tile_cut(extents: Sequence[int], place: int, terms: int) -> SumCut | None:
    """Blocks of so many terms of a sum, of which number `place` is in tiles: whole ones, or all of
    them in a block. None where there are no such blocks."""
    cut = SumCut.of(extents, terms)
    if cut is None or cut.place != place:
        return cut
    return cut if cut.count % TILE_TERMS == 0 or cut.count >= extents[place] else None


def over_terms(
    emit: Emitter,
    terms: tuple[Index, Index],
    extent: int,
    sums: list[SSAValue],
    step: TileStep,
) -> list[SSAValue]:
    """The sums after a step for each tile of a range of terms, of `extent` that there are.

    The range begins at a tile, and ends at one or with all terms: that tile may be filled in part.
    """
    low, high = terms
    rest = extent % TILE_TERMS

    def full(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        return step(inner, at, values, False)

    def last(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        return step(inner, at, values, True)

    sums = emit.loop(low, emit.least(high, extent - rest), TILE_TERMS, sums, full)
    if rest and high == extent and isinstance(low, int) and low < extent:
        return last(emit, extent - rest, sums)
    if rest:
        return emit.loop(emit.most(low, extent - rest), high, TILE_TERMS, sums, last)
    return sums


def fill_tile(emit: Emitter, source: TilePlace, filled: TilePlace, rest: int, rows: int) -> None:
    """Copies the `rest` of the terms of so many rows, with zeros behind them."""
    kind = VectorType(bf16, [TILE_TERMS])
    zero = emit.splat(FloatAttr(0.0, bf16), TILE_TERMS)
    mask = emit.first_lanes(rest, TILE_TERMS)

    def row(inner: Emitter, i: Index) -> None:
        begin = inner.value(inner.plus(source.at, inner.times(i, source.stride)))
        line = inner.add(vector.MaskedLoadOp(source.memory, [begin], mask, zero, kind))
        target = inner.value(inner.plus(inner.times(i, filled.stride), filled.at))
        inner.run(vector.StoreOp(line, filled.memory, [target]))

    emit.each(0, rows, 1, row)


class ZeroTerms:
    """The products with zeros of what is outside of a range of terms, the same for all rows.

    They are 0, and NaN in columns where an element of the packed operand is no finite number.
    """

    def __init__(self, emit: Emitter, part: PartOfSum, extent: int, unit: TileUnit) -> None:
        """Of `extent` terms those outside of `part`, for the tiles of `unit`."""
        assert part.outside is not None
        self.terms, self.end, self.extent, self.unit = part.ends, part.outside, extent, unit
        self.zeros = emit.add(alloca_op(bf16, TILE_ROWS * TILE_TERMS))
        self.starts = emit.add(alloca_op(f32, TILE_ROWS * TILE_PANEL))
        zero = emit.splat(FloatAttr(0.0, bf16), TILE_TERMS)
        for at in range(0, TILE_ROWS * TILE_TERMS, TILE_TERMS):
            emit.run(vector.StoreOp(zero, self.zeros, [emit.value(at)]))

    def add_up(self, emit: Emitter, paired: PairedTile, across: int) -> None:
        """Those of one panel of so many tiles `across`; they wait in scratch."""
        unit, left = self.unit, TilePlace(self.zeros, 0, TILE_TERMS)
        products = [(0, number) for number in range(across)]

        def step(inner: Emitter, at: Index, sums: list[SSAValue], partly: bool) -> list[SSAValue]:
            rights = [paired(inner, number, at) for number in range(across)]
            return unit.multiply(inner, TileProducts([left], rights, products), sums)

        low, high = self.terms
        sums = [value for _ in range(across) for value in unit.zero(emit)]
        sums = over_terms(emit, (0, low), self.extent, sums, step)
        sums = over_terms(emit, (high, self.end), self.extent, sums, step)
        for number in range(across):
            tile = sums[number * unit.values : (number + 1) * unit.values]
            unit.store(emit, tile, self._place(number))

    def tile(self, emit: Emitter, number: int) -> list[SSAValue]:
        """A tile of the panel at hand."""
        return self.unit.load(emit, self._place(number))

    def _place(self, number: int) -> TilePlace:
        return TilePlace(self.starts, number * TILE_COLUMNS, TILE_PANEL)

    def row(self, emit: Emitter, across: int) -> list[SSAValue]:
        """A row of the panel at hand, in vectors of the columns of a tile."""
        kind = VectorType(f32, [TILE_COLUMNS])
        places = [emit.value(n * TILE_COLUMNS) for n in range(across)]
        return [emit.add(vector.LoadOp(self.starts, [at], kind)) for at in places]


__all__ = ["TileStep", "ZeroTerms", "over_terms", "tile_cut"]
