"""Where a product in matrix tiles finds what it multiplies, and what its sums begin with."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import SSAValue

from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS, TILE_TERMS
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.row_operand import TileCopy
from lamina.passes.schedule.stages import LOCAL_ROW, TERM_START, Access, Stage
from lamina.passes.schedule.tile_terms import ZeroTerms, fill_tile
from lamina.passes.schedule.tile_unit import PAIR_ROW, PANEL_TILES, TilePlace, TileUnit


class TileOperands:
    """What a product in matrix tiles reads."""

    stage: Stage
    memory: Memory
    row: int
    column: int
    term: int
    """The summed dimension whose elements stand in pairs."""
    turned: bool
    """Whether tiles hold columns by rows."""
    direct: Access
    """The operand that is read as it stands."""
    paired: SSAValue
    """The memory of the operand that is packed in pairs, whose tiles are `tile_stride` apart."""
    tile_stride: int
    outer: dict[int, int]
    """Its strides along dimensions that are not of a tile."""
    first: Index
    """The first panel that is packed there."""
    tail: SSAValue
    """Scratch for tiles that end behind the sum."""
    copy: TileCopy | None
    """What copies the rows first, if they are."""
    zeros: ZeroTerms | None
    """The products with zeros of what is outside of a part of the sum."""
    unit: TileUnit

    def _start(self, emit: Emitter, column: int) -> list[SSAValue]:
        """What the sums of a tile begin with: 0, or the products with zeros."""
        return self.unit.zero(emit) if self.zeros is None else self.zeros.tile(emit, column)

    def _add_zero_terms(self, emit: Emitter, env: Env, panel: Index, across: int) -> None:
        assert self.zeros is not None
        first = emit.times(emit.minus(panel, self.first), PANEL_TILES)

        def paired(inner: Emitter, number: int, at: Index) -> TilePlace:
            return self._paired(inner, env, inner.plus(first, number), at)

        self.zeros.add_up(emit, paired, across)

    def zero_vectors(self, emit: Emitter, env: Env, panel: int) -> list[SSAValue]:
        """What the sums of each row begin with in a panel, in vectors of the columns of a tile."""
        if self.zeros is None:
            return [emit.splat(FloatAttr(0.0, f32), TILE_COLUMNS)] * PANEL_TILES
        width = min(TILE_PANEL, self.stage.extents[self.column] - panel * TILE_PANEL)
        across = -(-width // TILE_COLUMNS)
        self._add_zero_terms(emit, env, panel, across)
        return self.zeros.row(emit, across)

    def _direct(self, emit: Emitter, position: Env, number: int, partly: bool) -> TilePlace:
        """A tile of the operand that is read as it stands, zeros after the end of the sum."""
        form = self.memory.layout(self.direct)
        across = self.column if self.turned else self.row
        stride = form.coefficient(across)
        stride += 0 if self.turned else form.coefficient(LOCAL_ROW)
        if self.copy is not None:
            stride, partly = TILE_TERMS, False  # it has zeros behind the sum
        flat = self.memory.flat[self.direct.memory]
        at: Index = emit.linear(form, position)
        if partly:
            filled = TilePlace(self.tail, number * TILE_ROWS * TILE_TERMS, TILE_TERMS)
            rest = self.stage.extents[self.term] % TILE_TERMS
            fill_tile(emit, TilePlace(flat, at, stride), filled, rest, self.unit.height)
            return filled
        return TilePlace(flat, at, stride)

    def _paired(self, emit: Emitter, env: Env, tile: Index, term: Index) -> TilePlace:
        """A tile of the operand that is packed in pairs."""
        if self.copy is not None:
            term = emit.minus(term, env[TERM_START])
        at = emit.plus(emit.times(tile, self.tile_stride), emit.times(term, TILE_COLUMNS))
        for dim, stride in self.outer.items():
            at = emit.plus(at, emit.times(env.get(dim, 0), stride))
        return TilePlace(self.paired, at, PAIR_ROW)
