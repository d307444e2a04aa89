"""Columns that a task packs in pairs for matrix tiles, panel by panel, into its own scratch."""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, VectorType, bf16, i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import Stage

PANEL_TILES = TILE_PANEL // TILE_COLUMNS
"""Tiles of a panel."""

PAIR_ROW = 2 * TILE_COLUMNS
"""Elements of a row of a tile packed in pairs."""


class PairPanels:
    """Scratch for `together` panels of up to `terms` terms, and what packs them."""

    def __init__(
        self,
        stage: Stage,
        shape: Contraction,
        memory: Memory,
        emit: Emitter,
        together: int,
        terms: int,
    ) -> None:
        self.stage = stage
        self.memory = memory
        self.together = together
        self.column = shape.inner_column
        self.term = shape.summed[0]
        self.source = stage.reads[shape.b]
        self.tile_stride = -(-terms // TILE_TERMS) * TILE_TERMS // 2 * PAIR_ROW
        size = self.tile_stride * PANEL_TILES * together
        self.paired = emit.add(memref.AllocaOp.get(bf16, 64, [size]))

    def pack(self, emit: Emitter, env: Env, first: Index, low: Index, terms: int) -> None:
        """Pack columns in pairs, zeros after their end and that of the sum, into scratch.

        They are those of as many panels as are packed together, from panel `first` on: each page
        of memory that a row of them is on is then visited once for all. Of the sum, so many `terms`
        from `low` on are packed.
        """
        form = self.memory.layout(self.source)
        columns = self.stage.extents[self.column]
        stride = form.coefficient(self.term)
        start = emit.linear(
            form, {**env, self.column: emit.times(first, TILE_PANEL), self.term: low}
        )
        flat = self.memory.flat[self.source.memory]
        kind = VectorType(bf16, [TILE_PANEL])
        zero = emit.splat(FloatAttr(0.0, bf16), TILE_PANEL)

        def line(inner: Emitter, term: Index, number: Index) -> SSAValue:
            place = inner.plus(start, inner.times(number, TILE_PANEL))
            at = inner.value(inner.plus(place, inner.times(term, stride)))
            if columns % TILE_PANEL == 0:
                return inner.add(vector.LoadOp(flat, [at], kind))
            done = inner.times(inner.plus(first, number), TILE_PANEL)
            mask = first_lanes(inner, inner.minus(columns, done), TILE_PANEL)
            return inner.add(vector.MaskedLoadOp(flat, [at], mask, zero, kind))

        def write(
            inner: Emitter, pair: Index, number: Index, one: SSAValue, other: SSAValue
        ) -> None:
            for tile in range(PANEL_TILES):
                low = tile * TILE_COLUMNS
                order = [i + n * TILE_PANEL for i in range(low, low + TILE_COLUMNS) for n in (0, 1)]
                mixed = DenseArrayBase.from_list(i64, order)
                both = inner.add(vector.ShuffleOp(one, other, mixed, result_type=kind))  # pyright: ignore
                at = inner.plus(
                    inner.times(number, PANEL_TILES * self.tile_stride), tile * self.tile_stride
                )
                at = inner.plus(at, inner.times(pair, PAIR_ROW))
                inner.run(vector.StoreOp(both, self.paired, [inner.value(at)]))

        def rows(inner: Emitter, pair: Index, there: int) -> None:
            """A pair, of which the first `there` terms are not after the end."""

            def panel(deeper: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
                term = deeper.times(pair, 2)
                lines = [line(deeper, deeper.plus(term, n), number) for n in range(there)]
                one, other = [*lines, zero, zero][:2]
                write(deeper, pair, number, one, other)
                return values

            inner.loop(0, self.together, 1, [], panel)

        def two(inner: Emitter, pair: Index, values: list[SSAValue]) -> list[SSAValue]:
            rows(inner, pair, 2)
            return values

        def none(inner: Emitter, pair: Index, values: list[SSAValue]) -> list[SSAValue]:
            rows(inner, pair, 0)
            return values

        emit.loop(0, terms // 2, 1, [], two)
        if terms % 2:
            rows(emit, terms // 2, 1)
        emit.loop(-(-terms // 2), -(-terms // TILE_TERMS) * TILE_TERMS // 2, 1, [], none)


def first_lanes(emit: Emitter, on: Index, lanes: int) -> SSAValue:
    """A mask of the first `on` of so many lanes."""
    kind = VectorType(i1, [lanes])
    return emit.add(vector.CreateMaskOp.create(operands=[emit.value(on)], result_types=[kind]))
