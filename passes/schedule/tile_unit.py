"""What multiplies tiles packed in pairs: registers of matrix tiles, or vectors of dot products.

A tile of sums is one value in the one, and a vector for each of its rows in the other: lists of
values, one tile after the other, are what both work on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects import vector
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.dot_pairs import DotPairsOp
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import (
    TILE_COLUMNS,
    TILE_ROWS,
    TILE_TERMS,
    TileDotOp,
    TileLoadOp,
    TileStoreOp,
    TileZeroOp,
)
from lamina.dialects.records import record
from lamina.passes.cost.product_limits import DOT_SUMS, PAIRS_UNROLLED
from lamina.passes.schedule.combine import combine
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.strided_access import shuffled

PAIR_ROW = 2 * TILE_COLUMNS
"""Elements of a row of a tile packed in pairs."""

PANEL_TILES = TILE_PANEL // TILE_COLUMNS
"""Tiles of a panel."""


@record
class TilePlace:
    """Where a tile is: its first element in a memory, and elements from one row to the next."""

    memory: SSAValue
    at: Index
    stride: int


@record
class TileProducts:
    """`products` of left tiles, by number, with terms side by side, and of right ones in pairs."""

    lefts: Sequence[TilePlace]
    rights: Sequence[TilePlace]
    products: Sequence[tuple[int, int]]


class TileUnit(Protocol):
    """Tiles of sums of at most `height` rows by `TILE_COLUMNS` columns of f32."""

    height: int
    values: int
    """Values of a tile of sums."""
    most: int
    """Tiles of sums that are multiplied side by side, at most."""

    def zero(self, emit: Emitter) -> list[SSAValue]:
        """A tile of zeros."""
        ...

    def load(self, emit: Emitter, place: TilePlace) -> list[SSAValue]:
        """A tile of sums."""
        ...

    def store(self, emit: Emitter, tile: Sequence[SSAValue], place: TilePlace) -> None:
        """Write a tile of sums."""
        ...

    def multiply(
        self, emit: Emitter, tiles: TileProducts, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after `TILE_TERMS` terms of products, one tile of sums for each."""
        ...


class MatrixTiles:
    """Registers of matrix tiles: two by two of them share what they load."""

    values = 1
    most = 4

    def __init__(self, height: int) -> None:
        self.height = height
        self.kind = VectorType(f32, [height, TILE_COLUMNS])

    def zero(self, emit: Emitter) -> list[SSAValue]:
        """A tile of zeros."""
        return [emit.add(TileZeroOp(self.kind))]

    def load(self, emit: Emitter, place: TilePlace) -> list[SSAValue]:
        """A tile of sums."""
        return [_load(emit, place, self.kind)]

    def store(self, emit: Emitter, tile: Sequence[SSAValue], place: TilePlace) -> None:
        """Write a tile of sums."""
        at, stride = emit.value(place.at), emit.value(place.stride)
        emit.run(TileStoreOp(tile[0], place.memory, at, stride))

    def multiply(
        self, emit: Emitter, tiles: TileProducts, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the terms of a tile."""
        packed = VectorType(bf16, [TILE_TERMS // 2, PAIR_ROW])
        right = [_load(emit, place, packed) for place in tiles.rights]
        direct = VectorType(bf16, [self.height, TILE_TERMS])
        left = [_load(emit, place, direct) for place in tiles.lefts]
        return [
            emit.add(TileDotOp(left[i], right[j], total))
            for (i, j), total in zip(tiles.products, sums, strict=True)
        ]


class PairDots:
    """Vectors of dot products: a row of sums each, by a pair of terms that is broadcast.

    Two tiles, packed side by side, share what is broadcast. Their sums and what is read of them
    stay in registers: so the schedule gives the `height`.
    """

    def __init__(self, height: int, most: int) -> None:
        self.height = self.values = height
        self.most = most
        self.kind = VectorType(f32, [TILE_COLUMNS])

    def zero(self, emit: Emitter) -> list[SSAValue]:
        """A tile of zeros."""
        return [emit.splat(FloatAttr(0.0, f32), TILE_COLUMNS)] * self.height

    def load(self, emit: Emitter, place: TilePlace) -> list[SSAValue]:
        """A tile of sums."""
        return [
            emit.add(vector.LoadOp(place.memory, [emit.value(at)], self.kind))
            for at in self._rows(emit, place)
        ]

    def store(self, emit: Emitter, tile: Sequence[SSAValue], place: TilePlace) -> None:
        """Write a tile of sums."""
        for row, at in zip(tile, self._rows(emit, place), strict=True):
            emit.run(vector.StoreOp(row, place.memory, [emit.value(at)]))

    def _rows(self, emit: Emitter, place: TilePlace) -> list[Index]:
        return [emit.plus(place.at, row * place.stride) for row in range(self.height)]

    def multiply(
        self, emit: Emitter, tiles: TileProducts, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the terms of a tile.

        Where they are few, pairs of terms take turns with sums of their own, as those of one would
        wait for each other.
        """
        parts = 1
        while parts * len(sums) < DOT_SUMS:
            parts *= 2
        unrolled, each = max(parts, PAIRS_UNROLLED), len(sums)

        def step(inner: Emitter, term: Index, totals: list[SSAValue]) -> list[SSAValue]:
            for copy in range(unrolled):
                own = slice(copy % parts * each, (copy % parts + 1) * each)
                totals[own] = self._pair(inner, tiles, inner.plus(term, 2 * copy), totals[own])
            return totals

        if parts == 1:
            return emit.loop(0, TILE_TERMS, 2 * unrolled, list(sums), step)
        zero = emit.splat(FloatAttr(0.0, f32), TILE_COLUMNS)
        made = emit.loop(0, TILE_TERMS, 2 * unrolled, [zero] * each * parts, step)
        while len(made) > each:
            half = len(made) // 2
            halves = zip(made[:half], made[half:], strict=True)
            made = [combine(emit, "add", *both) for both in halves]
        return [combine(emit, "add", *both) for both in zip(sums, made, strict=True)]

    def _pair(
        self, emit: Emitter, tiles: TileProducts, term: Index, totals: list[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the pair of terms from `term` on."""
        packed = VectorType(bf16, [PAIR_ROW])
        right = [
            emit.add(vector.LoadOp(place.memory, [emit.value(at)], packed))
            for place in tiles.rights
            for at in [emit.plus(place.at, emit.times(term, TILE_COLUMNS))]
        ]
        made = list(totals)
        for number, left in enumerate(tiles.lefts):
            places = [(n, j) for n, (i, j) in enumerate(tiles.products) if i == number]
            for row, at in enumerate(self._rows(emit, left)):
                pair = _broadcast(emit, left.memory, emit.plus(at, term))
                for tile, j in places:
                    total = tile * self.height + row
                    made[total] = emit.add(DotPairsOp(pair, right[j], made[total]))
        return made


def tile_unit(product: PackedProduct) -> TileUnit:
    """What multiplies the tiles of a product: dot products in vectors if it is vectorized.

    Those have as many rows as are jammed, of the operand that is read as it stands.
    """
    stage, shape, row, fewest = product.stage, product.shape, product.row, product.fewest
    schedule, turned = stage.schedule, shape.pairs == shape.a
    if schedule.tile is not None:
        raise illegal(stage.op, "tile: packed pairs have all columns; blocks of the sum are terms")
    if schedule.prefetch is not None or schedule.prefetch_panels is not None:
        said = "prefetch" if schedule.prefetch is not None else "prefetch_panels"
        raise illegal(stage.op, f"{said}: nothing is fetched ahead of panels packed in pairs")
    lanes, across = schedule.vectorize, shape.inner_column
    if lanes is None:
        if schedule.jam is not None or schedule.unroll is not None:
            raise illegal(stage.op, "jam, unroll: of matrix tiles, which have sixteen rows")
        whole = turned or schedule.cache_read
        return MatrixTiles(TILE_ROWS if whole else min(TILE_ROWS, fewest))
    if schedule.cache_read:
        raise illegal(stage.op, "cache_read: of matrix tiles, not of vectors")
    packed = shape.inner_row if turned else across
    if lanes.dim != packed or lanes.count != TILE_COLUMNS:
        raise illegal(stage.op, f"vectorize: of d{packed} by {TILE_COLUMNS}, packed in pairs")
    side_by_side = 1 if schedule.unroll is None else schedule.unroll
    if side_by_side > PANEL_TILES:
        raise illegal(stage.op, f"unroll: {PANEL_TILES} at most")
    jam = schedule.jam
    if turned:
        if jam is None or jam.dim != across or not jam.count > 0 or TILE_COLUMNS % jam.count:
            raise illegal(
                stage.op, f"jam: of d{across}, read as it stands, by a divisor of {TILE_COLUMNS}"
            )
        return PairDots(jam.count, side_by_side)
    if jam is None:
        return PairDots(1, side_by_side)
    if jam.dim != row or not 0 < jam.count <= min(TILE_ROWS, fewest):
        where = "no dimension" if row is None else f"d{row} by {min(TILE_ROWS, fewest)} at most"
        raise illegal(stage.op, f"jam: tiles of this product go along {where}")
    return PairDots(jam.count, side_by_side)


def _load(emit: Emitter, place: TilePlace, kind: VectorType) -> SSAValue:
    return emit.add(TileLoadOp(place.memory, emit.value(place.at), emit.value(place.stride), kind))


def _broadcast(emit: Emitter, memory: SSAValue, at: Index) -> SSAValue:
    """A pair of terms in every lane."""
    pair = emit.add(vector.LoadOp(memory, [emit.value(at)], VectorType(bf16, [2])))
    return shuffled(emit, pair, pair, [0, 1] * TILE_COLUMNS)


__all__ = [
    "PAIR_ROW",
    "PANEL_TILES",
    "MatrixTiles",
    "PairDots",
    "TilePlace",
    "TileProducts",
    "TileUnit",
    "tile_unit",
]
