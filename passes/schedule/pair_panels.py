"""Columns that a task packs in pairs for matrix tiles, panel by panel, into its own scratch."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import alloca_op, vector_load_op, vector_store_op
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.prefetch import INTO_L1
from lamina.passes.schedule.strided_access import shuffled
from lamina.passes.schedule.tile_unit import PAIR_ROW, PANEL_TILES


class PairPanels:
    """Scratch for `together` panels of up to `terms` terms, and what packs them.

    Of `buffers` of them, one may be packed while another is multiplied.
    """

    def __init__(
        self,
        product: PackedProduct,
        memory: Memory,
        emit: Emitter,
        together: int,
        terms: int,
        buffers: int = 1,
    ) -> None:
        stage, shape = product.stage, product.shape
        self.stage = stage
        self.memory = memory
        self.together = together
        self.column = shape.inner_column
        self.term = shape.summed[0]
        self.source = stage.reads[shape.b]
        self.tile_stride = -(-terms // TILE_TERMS) * TILE_TERMS // 2 * PAIR_ROW
        self.buffer_stride = self.tile_stride * PANEL_TILES * together
        self.paired = emit.add(alloca_op(bf16, self.buffer_stride * buffers))
        self.zero = emit.splat(FloatAttr(0.0, bf16), TILE_PANEL)

    def pack(
        self, emit: Emitter, env: Env, first: Index, low: Index, terms: int, buffer: Index = 0
    ) -> None:
        """Pack columns in pairs, zeros after their end and that of the sum, into scratch.

        They are those of as many panels as are packed together, from panel `first` on: each page
        of memory that a row of them is on is then visited once for all. Of the sum, so many `terms`
        from `low` on are packed.
        """
        panels = _Panels(env, first, low, buffer)

        def none(inner: Emitter, pair: Index) -> None:
            self._pack_pair(inner, panels, pair, 0)

        self._pack_pairs(emit, panels, (0, terms // 2))
        if terms % 2:
            self._pack_pair(emit, panels, terms // 2, 1)
        emit.each(-(-terms // 2), -(-terms // TILE_TERMS) * TILE_TERMS // 2, 1, none)

    def pack_pairs(
        self,
        emit: Emitter,
        env: Env,
        first: Index,
        low: Index,
        pairs: tuple[Index, Index],
        buffer: Index,
    ) -> None:
        """Pack some pairs of terms of those that begin at `low`: the first to the second."""
        self._pack_pairs(emit, _Panels(env, first, low, buffer), pairs)

    def fetch(self, emit: Emitter, env: Env, panel: Index, term: Index) -> None:
        """Ask for the line of a panel at a term; one behind the last is no error."""
        form = self.memory.layout(self.source)
        position: Env = {**env, self.column: emit.times(panel, TILE_PANEL), self.term: term}
        at = emit.value(emit.linear(form, position))
        emit.run(PrefetchOp(self.memory.flat[self.source.memory], [at], INTO_L1))

    def _pack_pairs(self, emit: Emitter, panels: _Panels, pairs: tuple[Index, Index]) -> None:
        def two(inner: Emitter, pair: Index) -> None:
            self._pack_pair(inner, panels, pair, 2)

        emit.each(*pairs, 1, two)

    def _pack_pair(self, emit: Emitter, panels: _Panels, pair: Index, there: int) -> None:
        """A pair of each panel, of which the first `there` terms are not after the end."""

        def panel(inner: Emitter, number: Index) -> None:
            term = inner.times(pair, 2)
            lines = [self._line(inner, panels, inner.plus(term, n), number) for n in range(there)]
            one, other = [*lines, self.zero, self.zero][:2]
            self._write(inner, panels, pair, number, one, other)

        emit.each(0, self.together, 1, panel)

    def _line(self, emit: Emitter, panels: _Panels, term: Index, number: Index) -> SSAValue:
        """What one term has in the columns of a panel."""
        form = self.memory.layout(self.source)
        position: Env = {**panels.env, self.column: emit.times(panels.first, TILE_PANEL)}
        position[self.term] = panels.low
        place = emit.plus(emit.linear(form, position), emit.times(number, TILE_PANEL))
        at = emit.value(emit.plus(place, emit.times(term, form.coefficient(self.term))))
        flat, kind = self.memory.flat[self.source.memory], VectorType(bf16, [TILE_PANEL])
        columns = self.stage.extents[self.column]
        if columns % TILE_PANEL == 0:
            return emit.add(vector_load_op(flat, at, kind))
        done = emit.times(emit.plus(panels.first, number), TILE_PANEL)
        mask = emit.first_lanes(emit.minus(columns, done), TILE_PANEL)
        return emit.add(vector.MaskedLoadOp(flat, [at], mask, self.zero, kind))

    def _write(
        self,
        emit: Emitter,
        panels: _Panels,
        pair: Index,
        number: Index,
        one: SSAValue,
        other: SSAValue,
    ) -> None:
        """The lines of two terms, mixed, where tiles of a panel have them."""
        for tile in range(PANEL_TILES):
            low = tile * TILE_COLUMNS
            order = [i + n * TILE_PANEL for i in range(low, low + TILE_COLUMNS) for n in (0, 1)]
            both = shuffled(emit, one, other, order)
            at = emit.plus(
                emit.times(number, PANEL_TILES * self.tile_stride), tile * self.tile_stride
            )
            at = emit.plus(at, emit.times(panels.buffer, self.buffer_stride))
            at = emit.plus(at, emit.times(pair, PAIR_ROW))
            emit.run(vector_store_op(both, self.paired, emit.value(at)))


@record
class _Panels:
    """Panels from `first` on, of terms from `low` on, and the buffer that they are packed into."""

    env: Env
    first: Index
    low: Index
    buffer: Index
