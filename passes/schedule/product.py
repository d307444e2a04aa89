"""The register-tiled inner product: `rows x panel` accumulators over the summed dimensions.

One step of the innermost loop loads one row of a packed panel as vectors and, for each row of the
tile, broadcasts one element of the row operand into as many multiply-adds. The tile height comes
from the register count: all accumulators, one panel row and one broadcast stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as copied
from dataclasses import replace
from math import gcd, prod

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import load_op, vector_load_op
from lamina.dialects.plain_ops import plain_op
from lamina.passes.cost.product_limits import SUM_MULTIPLY_ADDS, SUM_UNROLL
from lamina.passes.schedule.body import Lane, broadcast
from lamina.passes.schedule.combine import combine, store
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute, vector_of
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_operand import PackedOperand
from lamina.passes.schedule.packed_product import PackedProduct, PartOfSum
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.panel_prefetch import PanelPrefetch, Walk
from lamina.passes.schedule.peel import whole_steps
from lamina.passes.schedule.register_tile import Tile, TilePosition
from lamina.passes.schedule.row_loops import RowLoops
from lamina.passes.schedule.row_operand import RowCopy
from lamina.passes.schedule.stages import LOCAL_ROW, TERM_START, Access
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sum_blocks import SumBlock, SumCut, chain_block
from lamina.passes.schedule.tile_fetch import TileFetch
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue
from lamina.passes.schedule.waiting_sums import WaitingSums


class ProductEmitter:
    """Emits the tiles of one contraction stage."""

    def __init__(
        self,
        product: PackedProduct,
        memory: Memory,
        tile: Tile,
        part: PartOfSum | None = None,
        packing: PanelCopy | None = None,
        lines: RowLoops | None = None,
        panels: int = 1,
    ) -> None:
        """`packing` has the panels of a task that packs them itself, `lines` what it walks in front
        of the rows of a block; it takes so many `panels`."""
        stage, shape = product.stage, product.shape
        self.product = product
        self.stage = stage
        self.memory = memory
        self.tile = tile
        self.vectors = tile.vectors
        """Vectors of a row of the tile that are computed: fewer where a panel is not full."""
        self.column = shape.inner_column
        self.summed = product.summed
        self.left = stage.reads[shape.a]
        self.element = self.left.element
        self.packing = packing
        self.lines = lines or RowLoops()
        self.terms = None if part is None else part.ends
        self.cut: SumCut | None = None
        """How the sum is taken in blocks."""
        self.outside = None if part is None else part.outside
        self.copy: RowCopy | None = None
        self.heights = (tile.rows, *(stage.schedule.tail or ()))
        """Rows of tiles: each computes what is left over of those in front of it."""
        self.sums: WaitingSums | None = None
        """Where sums wait for the next block of terms."""
        self.first: Index = 0
        """The first panel of the task."""
        self.columns: Index | None = None
        """Where columns end in a call, if what is stored ends there."""
        self.epilogue: TotalsEpilogue | None = None
        """What is computed of the totals before they are stored."""
        self.packed = PackedOperand.of(product, memory, packing)
        if stage.schedule.terms is not None:
            extents = [stage.extents[d] for d in self.summed]
            self.cut = SumCut.of(extents, stage.schedule.terms)
        walk = Walk(tile.rows, self.lines.count * max(1, product.most), panels, self.cut)
        self.prefetch = PanelPrefetch.of(product, self.packed, walk)
        """What is fetched ahead of the multiply-adds."""

    def copy_rows(self, emit: Emitter) -> None:
        """Have the rows of a task copied for each block of the sum, and read the copy."""
        lanes, lines = self.tile.lanes, self.lines.count
        self.copy = RowCopy(emit, self.product, self.memory, lanes, self.cut, lines)
        self.left = self.copy.access

    def keep_sums(self, emit: Emitter, panels: int) -> None:
        """Let the sums of so many panels wait in scratch between blocks of the sum.

        A last tile, moved up, has a place of its own.
        """
        rows = -(-self.product.most // self.tile.rows) * self.tile.rows
        size = (rows + sum(self.heights[-1:] if len(self.heights) > 1 else ())) * self.tile.panel
        self.sums = WaitingSums(emit, self.element, self.tile.lanes, size, self.lines, panels)

    def begin(self, emit: Emitter, env: Env, panels: tuple[Index, Index]) -> None:
        """What comes in front of a range of panels."""
        self.first = panels[0]

    def block(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        panel: Index,
        terms: SumBlock,
        *,
        masked: bool,
    ) -> None:
        """All tiles of one panel for rows `[low, high)`, as many as a tile has at least.

        With `tail`, what whole tiles leave over is computed in smaller ones. The last tile is moved
        up to end at the block's end: its overlap is computed twice. A panel that is `masked` is not
        full, and takes no more vectors than have columns, unless it is of a sum in blocks.
        """
        row_dim, sums = self.product.row, self.sums
        emitter = copied(self)
        if sums is not None:
            emitter.terms = terms.low, emit.plus(terms.low, terms.taken)
        elif masked and self.columns is None:
            rest = self.stage.extents[self.column] % self.tile.panel
            emitter.vectors = -(-rest // self.tile.lanes)
        low, high = rows
        start = emitter.zero_terms(emit, env, panel)
        kept = 0 if sums is None else sums.start(emit, env, emit.minus(panel, self.first))

        def tiles(first: Index, last: Index, height: int) -> None:
            def tile(inner: Emitter, number: Index) -> None:
                begin = number if height == 1 else inner.least(number, inner.minus(high, height))
                position = {**env, LOCAL_ROW: inner.minus(begin, low), TERM_START: terms.low}
                if row_dim is not None:
                    position[row_dim] = begin
                at = TilePosition(position, row_dim, height, panel)
                at = replace(at, starts=emitter._starts(inner, at))
                if terms.is_last:
                    emitter._fetch(inner, at)
                if sums is None or emitter.terms is None:
                    totals = emitter._sum(inner, at, emitter.summed, start * height)
                    emitter._store(inner, at, totals, masked=masked)
                    return
                both = emitter._blocked(), emitter.terms
                totals = emitter._terms(inner, at, *both, start * height)
                place = inner.times(inner.minus(number, low), self.tile.panel)
                place = inner.plus(kept, place)
                if not terms.is_first:
                    before = sums.load(inner, place, len(totals))
                    pairs = zip(before, totals, strict=True)
                    totals = [combine(inner, "add", *pair) for pair in pairs]
                if terms.is_last:
                    emitter._store(inner, at, totals, masked=masked)
                else:
                    sums.store(inner, place, totals)

            emit.each(first, last, height, tile)

        *whole, last = self.heights
        begin = low
        for height in whole:
            end = whole_steps(emit, begin, high, height)
            tiles(begin, end, height)
            begin = end
        tiles(begin, high, last)

    def _fetch(self, emit: Emitter, at: TilePosition) -> None:
        """Ask for lines that are read of the totals, or stored, once these are there."""
        column = emit.times(at.panel, self.tile.panel)
        tile = replace(self.tile, rows=at.height, vectors=self.vectors)
        env = {**at.env, self.column: column}
        TileFetch(self.memory, at.row, tile).emit_writes(emit, self.stage, env)
        if self.epilogue is not None:
            self.epilogue.fetch(emit, env, at.row, tile)

    def _blocked(self) -> tuple[int, ...]:
        """The summed dimensions that a block of the sum goes along."""
        return self.summed[0 if self.cut is None else self.cut.place :]

    def zero_terms(self, emit: Emitter, env: Env, panel: Index) -> list[SSAValue]:
        """What the sums of each row begin with, in vectors: the products with zeros.

        It is 0, and NaN in columns where an element of the packed operand is no finite number.
        """
        zero = emit.splat(number_attribute(0.0, self.element), self.tile.lanes)
        start = [zero] * self.vectors
        if self.terms is None or self.outside is None or isinstance(self.element, IntegerType):
            return start
        dim = self.summed[0]
        low, high = self.terms
        ranges: list[tuple[Index, Index]] = [(0, low), (high, self.outside)]
        for first, last in ranges:
            step = gcd(SUM_UNROLL, emit.divisor(first, last))

            def body(
                inner: Emitter, at: Index, sums: list[SSAValue], step: int = step
            ) -> list[SSAValue]:
                made: list[SSAValue] = []
                for copy in range(step):
                    rows = self._panel_row(inner, {**env, dim: at}, dim, copy, panel)
                    part = sums[copy * len(rows) : (copy + 1) * len(rows)]
                    made += [
                        self._multiply_add(inner, zero, *both)
                        for both in zip(rows, part, strict=True)
                    ]
                return made

            parts = emit.loop(first, last, step, [zero] * step * len(start), body)
            for copy in range(step):
                part = parts[copy * len(start) : (copy + 1) * len(start)]
                start = [combine(emit, "add", *b) for b in zip(start, part, strict=True)]
        return start

    def _sum(
        self,
        emit: Emitter,
        at: TilePosition,
        dims: Sequence[int],
        totals: list[SSAValue],
    ) -> list[SSAValue]:
        """Adds the terms of the summed dimensions `dims` to the totals, in blocks of a chain."""
        dim, *rest = dims
        extent = self.stage.extents[dim]
        length = prod(self.stage.extents[d] for d in rest)
        size = 0 if isinstance(self.element, IntegerType) else chain_block(extent, length)

        def terms(inner: Emitter, low: Index, high: Index, sums: list[SSAValue]) -> list[SSAValue]:
            return self._terms(inner, at, dims, (low, high), sums)

        def apart(inner: Emitter, low: Index, high: Index, sums: list[SSAValue]) -> list[SSAValue]:
            zero = inner.splat(number_attribute(0.0, self.element), self.tile.lanes)
            parts = terms(inner, low, high, [zero] * len(sums))
            return [combine(inner, "add", *both) for both in zip(parts, sums, strict=True)]

        def block(inner: Emitter, low: Index, sums: list[SSAValue]) -> list[SSAValue]:
            return apart(inner, low, inner.plus(low, size), sums)

        is_part = self.terms is not None and dim == self._blocked()[0]
        first, end = self.terms if is_part and self.terms is not None else (0, extent)
        if not size:
            return terms(emit, first, end, totals)
        whole = whole_steps(emit, first, end, size)
        totals = emit.loop(first, whole, size, totals, block)
        return apart(emit, whole, end, totals) if whole != end else totals

    def _terms(
        self,
        emit: Emitter,
        at: TilePosition,
        dims: Sequence[int],
        bounds: tuple[Index, Index],
        totals: list[SSAValue],
    ) -> list[SSAValue]:
        """Adds the terms of positions `bounds` of the first dimension, and all of the others."""
        dim, *rest = dims
        low, high = bounds
        count = high - low if isinstance(low, int) and isinstance(high, int) else 0

        def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            deeper = at.bind(dim, index)
            if rest:
                return self._sum(inner, deeper, rest, values)
            for copy in range(step):
                values = self._step(inner, deeper, dim, copy, values)
            return values

        is_open = self.terms is not None and not rest and emit.divisor(low, high) == 1
        if is_open and emit.divisor(low) % SUM_UNROLL == 0:  # the rest goes term by term
            whole = whole_steps(emit, low, high, SUM_UNROLL)
            totals, low = self._terms(emit, at, dims, (low, whole), totals), whole
        extent = self.stage.extents[dim]
        count = count or chain_block(extent, prod(self.stage.extents[d] for d in rest))
        if self.terms is not None:
            count = emit.divisor(low, high)
        step = 1
        if not rest:
            most = min(SUM_UNROLL, -(-SUM_MULTIPLY_ADDS // len(totals)))
            while step * 2 <= most and count % (step * 2) == 0:
                step *= 2
        return emit.loop(low, high, step, totals, body)

    def _step(
        self, emit: Emitter, at: TilePosition, dim: int, copy: int, totals: list[SSAValue]
    ) -> list[SSAValue]:
        lanes, vectors = self.tile.lanes, self.vectors
        rows = self._panel_row(emit, at.env, dim, copy, at.panel)
        if self.prefetch is not None:
            self.prefetch.emit(emit, at.env, dim, copy, at.panel)
        form = self.memory.layout(self.left)
        if at.starts:
            term = emit.linear(Linear(tuple(t for t in form.terms if t[0] in self.summed)), at.env)
            term = emit.plus(term, copy * form.coefficient(dim))
            places = [emit.plus(start, term) for start in at.starts]
        else:
            start = emit.plus(self.memory.at(emit, form, at.env), copy * form.coefficient(dim))
            step = self._row_step(emit, self.left, at)
            places = [emit.plus(start, emit.times(step, row)) for row in range(at.height)]
        flat = self.memory.flat[self.left.memory]
        made: list[SSAValue] = []
        for row in range(at.height):
            at_row = emit.value(places[row])
            element = emit.add(plain_op(memref.LoadOp, (flat, at_row), (self.element,)))
            factor = broadcast(emit, element, lanes)
            for v in range(vectors):
                made.append(self._multiply_add(emit, factor, rows[v], totals[row * vectors + v]))
        return made

    def _starts(self, emit: Emitter, at: TilePosition) -> tuple[Index, ...]:
        """Where each row of a tile begins in an argument whose strides are numbers of the call."""
        if self.left.memory not in self.memory.strides:
            return ()
        env = {**at.env, **dict.fromkeys(self.summed, 0)}
        start = self.memory.at(emit, self.memory.layout(self.left), env)
        step = self._row_step(emit, self.left, at)
        return tuple(emit.plus(start, emit.times(step, row)) for row in range(at.height))

    def _panel_row(
        self, emit: Emitter, env: Env, dim: int, copy: int, panel: Index
    ) -> list[SSAValue]:
        """A row of the packed panel, `copy` positions of `dim` further, in vectors."""
        lanes = self.tile.lanes
        ahead = emit.times(self.packed.step(emit, dim), copy)
        at = emit.plus(self.packed.row(emit, env, panel), ahead)
        memory, stored = self.packed.memory, self.packed.element
        kind, wide = vector_of(stored, lanes), vector_of(self.element, lanes)
        places = [emit.value(emit.plus(at, v * lanes)) for v in range(self.vectors)]
        if lanes == 1:
            loads = [emit.add(load_op(memory, [place])) for place in places]
        else:
            loads = [emit.add(vector_load_op(memory, place, kind)) for place in places]
        if stored == self.element:
            return loads
        return [emit.add(arith.ExtFOp(load, wide)) for load in loads]  # pyright: ignore

    def _row_step(self, emit: Emitter, access: Access, at: TilePosition) -> Index:
        """Elements from a row of a tile to the next; a number of the call for open arguments."""
        if access.memory not in self.memory.strides or at.row is None:
            return at.row_step(self.memory.layout(access))
        return self.memory.step(emit, access, at.row)

    def _multiply_add(
        self, emit: Emitter, left: SSAValue, right: SSAValue, total: SSAValue
    ) -> SSAValue:
        if isinstance(self.element, IntegerType):
            return emit.add(arith.AddiOp(total, emit.add(arith.MuliOp(left, right))))
        if self.tile.lanes > 1:
            return emit.add(plain_op(vector.FMAOp, (left, right, total), (total.type,)))
        from xdsl.dialects import math

        return emit.add(math.FmaOp(left, right, total))

    def _store(
        self, emit: Emitter, at: TilePosition, totals: list[SSAValue], *, masked: bool
    ) -> None:
        lanes, vectors = self.tile.lanes, self.vectors
        write = self.stage.writes[0]
        form = self.memory.layout(write)
        flat = self.memory.flat.get(write.memory)  # none of what stays in registers
        ends = self.stage.extents[self.column] if self.columns is None else self.columns
        column = emit.times(at.panel, self.tile.panel)
        start = self.memory.at(emit, form, {**at.env, self.column: column})
        step = self._row_step(emit, write, at)
        unit = form.coefficient(self.column)
        for v in range(vectors):
            mask = None
            if masked:
                left = emit.minus(ends, column)
                mask = emit.first_lanes(emit.minus(left, v * lanes), lanes)
            for row in range(at.height):
                total = totals[row * vectors + v]
                if flat is not None:
                    place = emit.plus(start, emit.plus(emit.times(step, row), v * lanes * unit))
                    store(emit, total, Elements(flat, place, unit, lanes, mask))
                if self.epilogue is not None:
                    env = {**at.env, self.column: emit.plus(column, v * lanes)}
                    if at.row is not None:
                        env[at.row] = emit.plus(env[at.row], row)
                        env[LOCAL_ROW] = emit.plus(env[LOCAL_ROW], row)
                    self.epilogue.run(emit, env, {write.memory: Lane(total, False)}, mask)
