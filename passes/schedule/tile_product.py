"""Products of bf16 in matrix tiles: two by two tiles of sums over the summed dimension.

One operand is packed in pairs, in tiles of sixteen rows or columns; the other is read as it stands
(see `lamina.passes.loop.pack_pairs`). Where the rows are what is packed, a tile holds columns by
rows, and is turned in registers before it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import TILE_PANEL, is_packed_in_tasks
from lamina.dialects.loop.tiles import (
    TILE_COLUMNS,
    TILE_ROWS,
    TILE_TERMS,
    TileDotOp,
    TileLoadOp,
    TileStoreOp,
    TileZeroOp,
)
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.pair_panels import PAIR_ROW, PANEL_TILES, PairPanels, first_lanes
from lamina.passes.schedule.stages import LOCAL_ROW, Stage
from lamina.passes.schedule.transpose import turn


class TileProduct:
    """Emits the tiles of one contraction stage that is packed in pairs."""

    def __init__(
        self,
        stage: Stage,
        shape: Contraction,
        memory: Memory,
        emit: Emitter,
        together: int,
        row: int | None,
    ) -> None:
        """Tiles go along `row`, if that is no position of the task; panels that are packed here are
        packed `together`."""
        assert shape.pairs is not None
        self.stage = stage
        self.memory = memory
        self.column = shape.inner_column
        self.row = shape.inner_row if row is None else row
        self.term = shape.summed[0]
        self.turned = shape.pairs == shape.a
        self.direct = stage.reads[1 - shape.pairs]
        self.source = stage.reads[shape.pairs]
        self.packs = is_packed_in_tasks(shape)
        self.together = together
        self.first: Index = 0
        self.panels: PairPanels | None = None
        if self.packs:
            self.outer: dict[int, int] = {}
            terms = stage.extents[self.term]
            self.panels = PairPanels(stage, shape, memory, emit, together, terms)
            self.paired, self.tile_stride = self.panels.paired, self.panels.tile_stride
        else:
            self.paired = memory.flat[self.source.memory]
            strides = row_major_strides(self.source.shape)
            outer = shape.batch if self.turned else (*shape.batch, *shape.columns[:-1])
            self.outer = dict(zip(outer, strides, strict=False))
            self.tile_stride = strides[len(outer)]
        size = 2 * TILE_ROWS * TILE_PANEL
        self.sums = emit.add(memref.AllocaOp.get(f32, 64, [size]))
        self.columns_first = self.sums
        if self.turned:
            self.columns_first = emit.add(memref.AllocaOp.get(f32, 64, [size]))
        self.tail = self.paired
        if stage.extents[self.term] % TILE_TERMS:
            size = 2 * TILE_ROWS * TILE_TERMS
            self.tail = emit.add(memref.AllocaOp.get(bf16, 64, [size]))

    def block(
        self,
        emit: Emitter,
        env: Env,
        row_dim: int | None,
        rows: tuple[Index, Index],
        fewest: int,
        most: int,
        panel: Index,
        *,
        masked: bool,
    ) -> None:
        """All tiles of one panel for rows `[low, high)`, of which there are `fewest` to `most`.

        Rows packed in pairs begin at a tile, and a last tile is filled with zeros. Otherwise the
        last tile is moved up to end at the block's end: its overlap is computed twice.
        """
        low, high = rows
        width = self.stage.extents[self.column] % TILE_PANEL if masked else TILE_PANEL
        first: Index = low
        if row_dim is None:
            low = env.get(self.row, 0)
            first, high = low, emit.plus(low, 1)
        height = TILE_ROWS if self.turned else min(TILE_ROWS, fewest)
        if self.turned:
            low = emit.times(emit.quotient(low, TILE_ROWS), TILE_ROWS)
        count = 2 if most > height else 1

        def tiles(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            last = inner.minus(high, height)
            if self.turned:
                last = inner.times(inner.quotient(inner.minus(high, 1), TILE_ROWS), TILE_ROWS)
            starts = [inner.least(inner.plus(at, n * height), last) for n in range(count)]
            if count == 1 and self.turned:
                starts = [at]
            self._tiles(inner, env, row_dim, (first, high), starts, height, panel, width)
            return values

        emit.loop(low, high, count * height, [], tiles)

    def _tiles(
        self,
        emit: Emitter,
        env: Env,
        row_dim: int | None,
        rows: tuple[Index, Index],
        starts: Sequence[Index],
        height: int,
        panel: Index,
        width: int,
    ) -> None:
        """The tiles of the rows that begin at `starts`, by those of `width` columns of a panel."""
        across = -(-width // TILE_COLUMNS)
        shape = (height, TILE_COLUMNS)
        zero = [emit.add(TileZeroOp(VectorType(f32, shape))) for _ in range(across * len(starts))]
        terms = self.stage.extents[self.term]
        whole = terms - terms % TILE_TERMS
        if self.turned:
            tiles = [emit.quotient(start, TILE_ROWS) for start in starts]
            places: list[Env] = [{self.column: c} for c in self._columns(emit, panel, width)]
        else:
            first = emit.times(emit.minus(panel, self.first), PANEL_TILES)
            tiles = [emit.plus(first, n) for n in range(across)]
            places = [{self.row: start, LOCAL_ROW: emit.minus(start, rows[0])} for start in starts]

        def step(inner: Emitter, at: Index, sums: list[SSAValue]) -> list[SSAValue]:
            rights = [self._paired(inner, env, tile, at) for tile in tiles]
            lefts = [
                self._direct(inner, {**env, **place, self.term: at}, number, height, at == whole)
                for number, place in enumerate(places)
            ]
            pairs = [(left, right) for left in lefts for right in rights]
            if self.turned:
                pairs = [(left, right) for right in rights for left in lefts]
            return [
                inner.add(TileDotOp(left, right, total))
                for (left, right), total in zip(pairs, sums, strict=True)
            ]

        sums = emit.loop(0, whole, TILE_TERMS, zero, step)
        if whole != terms:
            sums = step(emit, whole, sums)
        if not self.turned and self._has_panel_scratch():
            self._store_to_scratch(emit, env, rows, starts, panel, sums)
            return
        if self.turned:
            self._turn(emit, sums, across)
        else:
            for number, total in enumerate(sums):
                row, column = divmod(number, across)
                at = row * TILE_ROWS * TILE_PANEL + column * TILE_COLUMNS
                emit.run(TileStoreOp(total, self.sums, emit.value(at), emit.value(TILE_PANEL)))
        for number, start in enumerate(starts):
            self._store(emit, env, row_dim, rows, start, height, number * TILE_ROWS, panel, width)

    def _has_panel_scratch(self) -> bool:
        """Whether the sums go to scratch of the block of rows, a panel wide, in f32."""
        write = self.stage.writes[0]
        if write.memory not in self.memory.local_row or write.element != f32:
            return False
        form = self.memory.layout(write)
        pitch = form.coefficient(LOCAL_ROW) + form.coefficient(self.row)
        return pitch == TILE_PANEL and form.coefficient(self.column) == 1

    def _store_to_scratch(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        starts: Sequence[Index],
        panel: Index,
        sums: Sequence[SSAValue],
    ) -> None:
        """Write tiles where an epilogue reads the sums: in rows of whole panels."""
        write = self.stage.writes[0]
        form, flat = self.memory.layout(write), self.memory.flat[write.memory]
        across = len(sums) // len(starts)
        for number, total in enumerate(sums):
            row, column = divmod(number, across)
            local = emit.minus(starts[row], rows[0])
            position: Env = {**env, self.row: starts[row], LOCAL_ROW: local}
            position[self.column] = emit.times(panel, TILE_PANEL)
            at = emit.plus(emit.linear(form, position), column * TILE_COLUMNS)
            emit.run(TileStoreOp(total, flat, emit.value(at), emit.value(TILE_PANEL)))

    def _columns(self, emit: Emitter, panel: Index, width: int) -> list[Index]:
        """Where the tiles of a panel begin; one that would be partly empty is moved up."""
        start = emit.times(panel, TILE_PANEL)
        ends = range(0, width, TILE_COLUMNS)
        return [emit.plus(start, min(at, width - TILE_COLUMNS)) for at in ends]

    def _direct(
        self, emit: Emitter, position: Env, number: int, height: int, partly: bool
    ) -> SSAValue:
        """A tile of the operand that is read as it stands, zeros after the end of the sum."""
        form = self.memory.layout(self.direct)
        across = self.column if self.turned else self.row
        stride = form.coefficient(across)
        stride += 0 if self.turned else form.coefficient(LOCAL_ROW)
        flat = self.memory.flat[self.direct.memory]
        at: Index = emit.linear(form, position)
        if partly:
            source, start, step = flat, at, stride
            flat, stride = self.tail, TILE_TERMS
            at = number * TILE_ROWS * TILE_TERMS
            kind = VectorType(bf16, [TILE_TERMS])
            zero = emit.splat(FloatAttr(0.0, bf16), TILE_TERMS)
            mask = first_lanes(emit, self.stage.extents[self.term] % TILE_TERMS, TILE_TERMS)

            def row(inner: Emitter, i: Index, values: list[SSAValue]) -> list[SSAValue]:
                begin = inner.value(inner.plus(start, inner.times(i, step)))
                line = inner.add(vector.MaskedLoadOp(source, [begin], mask, zero, kind))
                target = inner.value(inner.plus(inner.times(i, TILE_TERMS), at))
                inner.run(vector.StoreOp(line, flat, [target]))
                return values

            emit.loop(0, height, 1, [], row)
        kind = VectorType(bf16, [height, TILE_TERMS])
        return emit.add(TileLoadOp(flat, emit.value(at), emit.value(stride), kind))

    def _paired(self, emit: Emitter, env: Env, tile: Index, term: Index) -> SSAValue:
        """A tile of the operand that is packed in pairs."""
        at = emit.plus(emit.times(tile, self.tile_stride), emit.times(term, TILE_COLUMNS))
        for dim, stride in self.outer.items():
            at = emit.plus(at, emit.times(env.get(dim, 0), stride))
        kind = VectorType(bf16, [TILE_TERMS // 2, PAIR_ROW])
        return emit.add(TileLoadOp(self.paired, emit.value(at), emit.value(PAIR_ROW), kind))

    def pack(self, emit: Emitter, env: Env, first: Index) -> None:
        """Pack the columns of as many panels as are packed together, from panel `first` on."""
        assert self.panels is not None
        self.first = first
        self.panels.pack(emit, env, first, 0, self.stage.extents[self.term])

    def _turn(self, emit: Emitter, sums: Sequence[SSAValue], across: int) -> None:
        """Put tiles of columns by rows, `across` of them side by side, into scratch by rows."""
        tile = TILE_ROWS * TILE_COLUMNS
        for number, total in enumerate(sums):
            place = emit.value(number * tile), emit.value(TILE_COLUMNS)
            emit.run(TileStoreOp(total, self.columns_first, *place))
        kind = VectorType(f32, [TILE_COLUMNS])

        def one(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
            start = inner.times(number, tile)
            places = [inner.value(inner.plus(start, i * TILE_COLUMNS)) for i in range(TILE_ROWS)]
            lines = [inner.add(vector.LoadOp(self.columns_first, [at], kind)) for at in places]
            row, column = inner.quotient(number, across), inner.remainder(number, across)
            at = inner.plus(
                inner.times(row, TILE_ROWS * TILE_PANEL), inner.times(column, TILE_COLUMNS)
            )
            for i, line in enumerate(turn(inner, lines)):
                target = inner.value(inner.plus(at, i * TILE_PANEL))
                inner.run(vector.StoreOp(line, self.sums, [target]))
            return values

        emit.loop(0, len(sums), 1, [], one)

    def _store(
        self,
        emit: Emitter,
        env: Env,
        row_dim: int | None,
        rows: tuple[Index, Index],
        start: Index,
        height: int,
        kept: int,
        panel: Index,
        width: int,
    ) -> None:
        """Write those rows of a tile that are rows of the block."""
        write = self.stage.writes[0]
        form = self.memory.layout(write)
        flat = self.memory.flat[write.memory]
        unit = form.coefficient(self.column)
        column = emit.times(panel, TILE_PANEL)
        kind = VectorType(f32, [TILE_COLUMNS])

        def row(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            position = {**env, self.column: column, LOCAL_ROW: inner.minus(at, rows[0])}
            position[self.row] = at
            place = inner.linear(form, position)
            line = inner.times(inner.plus(inner.minus(at, start), kept), TILE_PANEL)
            for offset in range(0, width, TILE_COLUMNS):
                missing = max(0, offset + TILE_COLUMNS - width)
                shift = missing if self.turned else 0  # the tile was moved up
                source = inner.value(inner.plus(line, offset + shift))
                sums = inner.add(vector.LoadOp(self.sums, [source], kind))
                mask = None
                if missing:
                    mask = first_lanes(inner, TILE_COLUMNS - missing, TILE_COLUMNS)
                target = inner.plus(place, offset * unit)
                store(inner, sums, flat, target, unit, TILE_COLUMNS, mask)
            return values

        low = start if row_dim is not None else rows[0]
        emit.loop(low, emit.least(emit.plus(start, height), rows[1]), 1, [], row)
