"""A packed product as a task computes it: its dimensions, and what tiles of it go along."""

from __future__ import annotations

from dataclasses import dataclass

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.tiles import TILE_ROWS
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Index
from lamina.passes.schedule.stages import Stage


@record
class Blocks:
    """How the last rows of the kernel are divided: `size` of `rows` a task, if they are at all.

    Of live rows, the last block may have as few as a tile has.
    """

    is_blocked: bool
    rows: int
    size: int
    live: bool = False

    @property
    def count(self) -> int:
        """Blocks there are."""
        return -(-self.rows // self.size)

    @property
    def fewest(self) -> int:
        """Rows of the smallest block."""
        fewest = self.rows % self.size or self.size
        return min(fewest, TILE_ROWS) if self.live else fewest


@record
class PartOfSum:
    """Terms of the only summed dimension, from the first to the second, that are added up.

    Others, up to where `outside` says, count as well: they are products with zeros.
    """

    ends: tuple[Index, Index]
    outside: Index | None = None


@dataclass(frozen=True, eq=False)
class PackedProduct:
    """A product of a task: of its dimension `row` it has from `fewest` to `most` positions.

    Without a row dimension, all rows are positions of the task, and each is one. Tiles are made for
    each position of the dimensions `around`.
    """

    stage: Stage
    shape: Contraction
    row: int | None
    fewest: int
    most: int
    around: tuple[int, ...]
    is_live: bool = False
    """Whether calls say how many rows there are."""

    @staticmethod
    def of(
        stage: Stage, shape: Contraction, blocks: Blocks, row: int | None = None
    ) -> PackedProduct:
        """Of a kernel whose rows are divided so.

        Where they are not, tiles go along `row`, or what the schedule says, or the last.
        """
        free = [
            d
            for d in (*shape.batch, *shape.rows, *shape.columns[:-1])
            if d not in stage.rows and stage.extents[d] != 1
        ]
        if blocks.is_blocked:
            row, fewest, most = stage.rows[-1], blocks.fewest, blocks.size
            return PackedProduct(stage, shape, row, fewest, most, tuple(free), blocks.live)
        inner_rows = [d for d in shape.rows if d in free]
        if not inner_rows:
            return PackedProduct(stage, shape, None, 1, 1, tuple(free))
        jam = stage.schedule.jam
        if row is None:
            row = jam.dim if jam is not None and jam.dim in inner_rows else inner_rows[-1]
        count, free = stage.extents[row], [d for d in free if d != row]
        return PackedProduct(stage, shape, row, count, count, tuple(free))

    @property
    def column(self) -> int:
        """The dimension that panels are of."""
        return self.shape.inner_column

    @property
    def columns(self) -> int:
        """Its extent."""
        return self.stage.extents[self.column]

    @property
    def panel(self) -> int:
        """Columns of a panel."""
        assert self.shape.panel is not None
        return self.shape.panel

    @property
    def panels(self) -> int:
        """Panels, the last one perhaps not full."""
        return panel_count(self.stage, self.shape)

    @property
    def summed(self) -> tuple[int, ...]:
        """The summed dimensions that have several positions, at least one of them."""
        wide = tuple(d for d in self.shape.summed if self.stage.extents[d] != 1)
        return wide or self.shape.summed[:1]


def panel_count(stage: Stage, shape: Contraction) -> int:
    """Panels of a product, the last one perhaps not full."""
    return -(-stage.extents[shape.inner_column] // (shape.panel or 1))
