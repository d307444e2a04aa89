"""Where whole sums of matrix tiles go: to scratch by panels, or row by row to where they belong.

Those of dot products are vectors in registers, and go where they belong from there, and to what is
computed of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import vector_load_op, vector_store_op
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS
from lamina.dialects.records import record
from lamina.passes.schedule.body import Lane
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.register_tile import Tile
from lamina.passes.schedule.row_operand import TileCopy
from lamina.passes.schedule.stages import LOCAL_ROW, Stage
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.tile_unit import PairDots, TilePlace, TileUnit
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue
from lamina.passes.schedule.transpose import turn

PAIR_SUMS = 2 * TILE_ROWS * TILE_PANEL
"""Sums of a pair of tiles by a panel."""


@record
class Place:
    """Where tiles stand: of rows `[low, high)` pair number `pair`, whose tiles begin at `starts`,
    and of a panel `width` columns."""

    rows: tuple[Index, Index]
    pair: Index
    starts: Sequence[Index]
    panel: Index
    width: int


class TileResults:
    """What a product in matrix tiles writes."""

    stage: Stage
    memory: Memory
    row: int
    column: int
    most: int
    """Rows of a task, at most."""
    copy: TileCopy | None
    """What copies the rows first, if they are."""
    turned: bool
    """Whether tiles hold columns by rows."""
    is_tiled: bool
    """Whether tiles go along rows of the task."""
    unit: TileUnit
    """What multiplies, and how many rows its tiles have."""
    sums: SSAValue
    """Scratch for the sums of a pair of tiles, by rows."""
    columns_first: SSAValue
    """The same of sums that are turned."""
    epilogue: TotalsEpilogue | None
    """What is computed of sums in registers."""

    @property
    def tile_rows(self) -> int:
        """Rows of the product that a tile has."""
        return TILE_ROWS if self.turned else self.unit.height

    @property
    def _parts(self) -> int:
        """Parts of a tile's columns, where those are its rows in registers."""
        return TILE_COLUMNS // self.unit.height if self.turned else 1

    def _offset(self, number: int, part: int) -> int:
        """Where a part of a tile stands behind those before it."""
        return (number * TILE_ROWS + part * self.unit.height) * TILE_COLUMNS

    def _side_by_side(self, place: Place) -> list[tuple[Sequence[int], int]]:
        """The tiles of a place that are multiplied at once, as many as stay in registers: their
        numbers, and the part of their columns, if those are read as they stand."""
        across, rows = -(-place.width // TILE_COLUMNS), len(place.starts)
        numbers, most = range(rows * across), self.unit.most
        if self._parts == 1:
            return [(numbers[first : first + most], 0) for first in numbers[::most]]
        return [
            ([row * across + column for row in range(first, min(first + most, rows))], part)
            for column in range(across)
            for part in range(self._parts)
            for first in range(0, rows, most)
        ]

    def _columns(self, emit: Emitter, panel: Index, width: int) -> list[Index]:
        """Where the tiles of a panel begin; one that would be partly empty is moved up."""
        start = emit.times(panel, TILE_PANEL)
        ends = range(0, width, TILE_COLUMNS)
        return [emit.plus(start, min(at, width - TILE_COLUMNS)) for at in ends]

    def _finish(
        self,
        emit: Emitter,
        env: Env,
        place: Place,
        numbers: Sequence[int],
        part: int,
        sums: Sequence[SSAValue],
    ) -> None:
        """Put whole sums of a part of tiles, by number, where `_write` finds them."""
        across, size = -(-place.width // TILE_COLUMNS), self.unit.values
        in_scratch = self._has_panel_scratch()
        for n, number in enumerate(numbers):
            tile = sums[n * size : (n + 1) * size]
            row, column = divmod(number, across)
            if self._in_registers:
                self._store_registers(emit, env, place, row, column, tile)
                continue
            if in_scratch:
                to = self._scratch_place(emit, env, place, row, column)
            elif self.turned:
                to = TilePlace(self.columns_first, self._offset(number, part), TILE_COLUMNS)
            else:
                at = row * TILE_ROWS * TILE_PANEL + column * TILE_COLUMNS
                to = TilePlace(self.sums, at, TILE_PANEL)
            self.unit.store(emit, tile, to)

    def _write(self, emit: Emitter, env: Env, place: Place) -> None:
        """Write the sums of all tiles where they belong."""
        if self._in_registers or self._has_panel_scratch():
            return  # they are there
        if self.turned:
            self._turn(emit, place)
        for number, start in enumerate(place.starts):
            self._store(emit, env, start, number * TILE_ROWS, place)

    @property
    def _in_registers(self) -> bool:
        """Whether sums are vectors of columns that are neighbours where they are stored."""
        form = self.memory.layout(self.stage.writes[0])
        along = form.coefficient(self.column) == 1 or self.epilogue is not None
        return isinstance(self.unit, PairDots) and not self.turned and along

    def _store_registers(
        self,
        emit: Emitter,
        env: Env,
        place: Place,
        row: int,
        column: int,
        tile: Sequence[SSAValue],
    ) -> None:
        """Write the sums of a tile, and run what follows on them."""
        write, start = self.stage.writes[0], place.starts[row]
        form, flat = self.memory.layout(write), self.memory.flat.get(write.memory)
        left, mask = place.width - column * TILE_COLUMNS, None
        if left < TILE_COLUMNS:
            mask = emit.first_lanes(left, TILE_COLUMNS)
        unit = form.coefficient(self.column)
        first = emit.plus(emit.times(place.panel, TILE_PANEL), column * TILE_COLUMNS)
        for line, total in enumerate(tile):
            at = emit.plus(start, line)
            here: Env = {**env, self.row: at, LOCAL_ROW: emit.minus(at, place.rows[0])}
            here[self.column] = first
            if flat is not None:
                target = emit.linear(form, here)
                store(emit, total, Elements(flat, target, unit, TILE_COLUMNS, mask))
            if self.epilogue is not None:
                self.epilogue.run(emit, here, {write.memory: Lane(total, False)}, mask)

    def _fetch(self, emit: Emitter, env: Env, place: Place) -> None:
        """Ask for lines that are read of the sums, or stored, once these are there."""
        if self.epilogue is None:
            return
        tile = Tile(self.tile_rows, -(-place.width // TILE_COLUMNS), TILE_COLUMNS)
        for start in place.starts:
            here: Env = {**env, self.row: start, LOCAL_ROW: emit.minus(start, place.rows[0])}
            here[self.column] = emit.times(place.panel, TILE_PANEL)
            self.epilogue.fetch(emit, here, self.row if self.is_tiled else None, tile)

    def _has_panel_scratch(self) -> bool:
        """Whether tiles go to scratch of the block of rows, a panel wide, in f32."""
        write = self.stage.writes[0]
        if self.turned or (self.copy is not None and self.most % TILE_ROWS):
            return False  # they end behind the rows, or are to be turned
        if write.memory not in self.memory.local_row or write.element != f32:
            return False
        form = self.memory.layout(write)
        pitch = form.coefficient(LOCAL_ROW) + form.coefficient(self.row)
        return pitch == TILE_PANEL and form.coefficient(self.column) == 1

    def _scratch_place(
        self, emit: Emitter, env: Env, place: Place, row: int, column: int
    ) -> TilePlace:
        """Where an epilogue reads the sums of a tile: in rows of whole panels."""
        write, start = self.stage.writes[0], place.starts[row]
        form, flat = self.memory.layout(write), self.memory.flat[write.memory]
        position: Env = {**env, self.row: start, LOCAL_ROW: emit.minus(start, place.rows[0])}
        position[self.column] = emit.times(place.panel, TILE_PANEL)
        at = emit.plus(emit.linear(form, position), column * TILE_COLUMNS)
        return TilePlace(flat, at, TILE_PANEL)

    def _turn(self, emit: Emitter, place: Place) -> None:
        """Put tiles of columns by rows, those of a panel side by side, into scratch by rows."""
        tile, across = TILE_ROWS * TILE_COLUMNS, -(-place.width // TILE_COLUMNS)
        kind = VectorType(f32, [TILE_COLUMNS])

        def one(inner: Emitter, number: Index) -> None:
            start = inner.times(number, tile)
            places = [inner.value(inner.plus(start, i * TILE_COLUMNS)) for i in range(TILE_ROWS)]
            lines = [inner.add(vector_load_op(self.columns_first, at, kind)) for at in places]
            row, column = inner.quotient(number, across), inner.remainder(number, across)
            at = inner.plus(
                inner.times(row, TILE_ROWS * TILE_PANEL), inner.times(column, TILE_COLUMNS)
            )
            for i, line in enumerate(turn(inner, lines)):
                target = inner.value(inner.plus(at, i * TILE_PANEL))
                inner.run(vector_store_op(line, self.sums, target))

        emit.each(0, across * len(place.starts), 1, one)

    def _store(
        self,
        emit: Emitter,
        env: Env,
        start: Index,
        kept: int,
        place: Place,
    ) -> None:
        """Write those rows of a tile that are rows of the block; `kept` is where its sums begin."""
        rows, width = place.rows, place.width
        write = self.stage.writes[0]
        form = self.memory.layout(write)
        flat = self.memory.flat[write.memory]
        unit = form.coefficient(self.column)
        column = emit.times(place.panel, TILE_PANEL)
        kind = VectorType(f32, [TILE_COLUMNS])

        def row(inner: Emitter, at: Index) -> None:
            position = {**env, self.column: column, LOCAL_ROW: inner.minus(at, rows[0])}
            position[self.row] = at
            written = inner.linear(form, position)
            line = inner.times(inner.plus(inner.minus(at, start), kept), TILE_PANEL)
            for offset in range(0, width, TILE_COLUMNS):
                missing = max(0, offset + TILE_COLUMNS - width)
                shift = missing if self.turned else 0  # the tile was moved up
                source = inner.value(inner.plus(line, offset + shift))
                sums = inner.add(vector_load_op(self.sums, source, kind))
                mask = None
                if missing:
                    mask = inner.first_lanes(TILE_COLUMNS - missing, TILE_COLUMNS)
                target = inner.plus(written, offset * unit)
                store(inner, sums, Elements(flat, target, unit, TILE_COLUMNS, mask))

        low = start if self.is_tiled else rows[0]
        if self.turned and emit.divisor(rows[0]) % TILE_ROWS:
            low = emit.most(low, rows[0])  # the tile may begin in front of the block
        emit.each(low, emit.least(emit.plus(start, self.tile_rows), rows[1]), 1, row)
