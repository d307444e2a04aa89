"""The register tile of a product, and where one stands."""

from __future__ import annotations

from dataclasses import replace

from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.stages import LOCAL_ROW


@record
class Tile:
    """A register tile: `rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def panel(self) -> int:
        """Columns of the tile."""
        return self.vectors * self.lanes


@record
class TilePosition:
    """Where a tile of `height` rows of dimension `row` stands, in a panel.

    A task whose rows are all positions of `env` has no row dimension.
    """

    env: Env
    row: int | None
    height: int
    panel: Index
    starts: tuple[Index, ...] = ()
    """Where rows of the operand begin whose strides are numbers of the call: computed once."""

    def bind(self, dim: int, index: Index) -> TilePosition:
        """The same at a position of one more dimension."""
        return replace(self, env={**self.env, dim: index})

    def row_step(self, form: Linear) -> int:
        """Elements from a row of the tile to the next, of what is at such an offset."""
        step = form.coefficient(LOCAL_ROW)
        return step if self.row is None else step + form.coefficient(self.row)
