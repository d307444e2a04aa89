"""The row operand of a product, copied into scratch where its own layout would be slow to read.

Rows a power of two apart fall into the same few sets of the first-level cache, and summed
dimensions that are not contiguous touch a cache line per element; a copy per block of rows costs
one pass over the block and is read once for every panel. Rows that are neighbours in memory stay
so: a copy has all of them for one term, then for the next, and is made of whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import alloca_op, vector_store_op
from lamina.dialects.loop.tiles import TILE_ROWS, TILE_TERMS
from lamina.passes.cost.product_limits import ROW_PADDING_BYTES
from lamina.passes.schedule.body import load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.peel import Vectors, each_vector
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.stages import LOCAL_ROW, ROW_START, TERM_START, Access
from lamina.passes.schedule.strided_access import Elements
from lamina.passes.schedule.sum_blocks import SumBlock, SumCut


class RowCopy:
    """Scratch for the rows of a task, and what copies them, `lanes` elements at a time."""

    def __init__(
        self,
        emit: Emitter,
        product: PackedProduct,
        memory: Memory,
        lanes: int,
        cut: SumCut | None = None,
        lines: int = 1,
    ) -> None:
        """Room for all rows of a task of the product, in so many `lines`, or for the terms of each
        that are between two places where the sum is `cut`.

        Cut is the last summed dimension.
        """
        assert product.row is not None
        stage, self.row = product.stage, product.row
        summed = product.summed[0 if cut is None else cut.place :]
        self.source = access = stage.reads[product.shape.a]
        self.summed = summed
        self._flat = memory.flat[access.memory]
        self._extents = [stage.extents[d] for d in summed] if cut is None else [cut.count]
        bits = access.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        terms, step = prod(self._extents), 1
        self._along_rows = lines == 1 and are_neighbours(access, product.row)
        if self._along_rows:
            step = row_pitch(product.most, bits)
            offset, size = {LOCAL_ROW: 1}, terms * step
        else:
            pitch = terms + ROW_PADDING_BYTES * 8 // bits
            offset, size = {LOCAL_ROW: pitch}, lines * product.most * pitch
            if lines > 1:
                offset[ROW_START] = pitch
        scratch = emit.add(alloca_op(access.element, size))
        memory.flat[scratch] = scratch
        start = Linear(((TERM_START, -step),)) if cut is not None else Linear(())
        for dim, extent in zip(reversed(summed), reversed(self._extents), strict=True):
            offset[dim] = step
            step *= extent
        self._form = Linear.of(offset)
        along = product.most if self._along_rows else self._extents[-1]
        self._lanes = 1 << min(lanes, max(1, along)).bit_length() - 1
        self.access = Access(scratch, self._form.add(start), access.element)
        """The copy, which is read instead."""

    def copy(self, emit: Emitter, env: Env, rows: tuple[Index, Index], terms: SumBlock) -> None:
        """Copy rows `[low, high)`, of each the terms of a block of the sum."""
        extents = [terms.taken] if len(self.summed) == 1 else self._extents
        if self._along_rows:
            self._neighbours(emit, env, rows, terms.low, extents)
            return

        def row(inner: Emitter, at: Index) -> None:
            position = {**env, self.row: at, LOCAL_ROW: inner.minus(at, rows[0])}
            self._line(inner, position, terms.low, extents)

        emit.each(*rows, 1, row)

    def _neighbours(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        first: Index,
        extents: Sequence[Index],
    ) -> None:
        """Copy all rows term by term."""
        *outer, dim = self.summed

        def term(inner: Emitter, at: list[Index]) -> None:
            here = {**env, **dict(zip(outer, at, strict=False))}
            source = {**here, dim: inner.plus(first, at[-1])}
            to = {**here, dim: at[-1]}

            def move(deeper: Emitter, row: Vectors) -> None:
                local = deeper.minus(row.at, rows[0])
                self._copy(deeper, {**source, self.row: row.at}, {**to, LOCAL_ROW: local}, 1, row)

            each_vector(inner, rows, self._lanes, move)

        over_points(emit, [(0, count) for count in extents], term)

    def _line(self, emit: Emitter, position: Env, first: Index, extents: Sequence[Index]) -> None:
        *outer, dim = self.summed
        *counts, extent = extents

        def line(inner: Emitter, at: list[Index]) -> None:
            here = {**position, **dict(zip(outer, at, strict=True))}

            def move(deeper: Emitter, term: Vectors) -> None:
                source = {**here, dim: deeper.plus(first, term.at)}
                stride = self.source.stride(dim)
                self._copy(deeper, source, {**here, dim: term.at}, stride, term)

            each_vector(inner, (0, extent), self._lanes, move)

        over_points(emit, [(0, count) for count in counts], line)

    def _copy(self, emit: Emitter, source: Env, to: Env, stride: int, along: Vectors) -> None:
        """Copy a vector of elements that are `stride` apart."""
        at = emit.linear(self.source.offset, source)
        value = load(emit, Elements(self._flat, at, stride, self._lanes, along.mask)).value
        place = emit.linear(self._form, to)
        store(emit, value, Elements(self.access.memory, place, 1, self._lanes, along.mask))


def are_neighbours(access: Access, row: int) -> bool:
    """Whether the rows of an operand lie side by side."""
    return access.stride(row) == 1


def row_pitch(rows: int, bits: int) -> int:
    """Elements from one term to the next of a copy of neighbouring rows.

    They are an odd number of cache lines, so that terms share no sets of the nearest cache.
    """
    line = ROW_PADDING_BYTES * 8 // bits
    lines = -(-rows // line)
    return (lines + 1 - lines % 2) * line


class TileCopy:
    """Scratch for `terms` terms of the rows of a task, tile by tile, and what copies them.

    What one step multiplies then stands together, and rows that are far apart do not fight for
    places in the nearest cache.
    """

    def __init__(self, emit: Emitter, product: PackedProduct, memory: Memory, terms: int) -> None:
        """So many terms: a multiple of those of a tile."""
        assert product.row is not None
        self.row, self.term, self.terms = product.row, product.shape.summed[0], terms
        self.source = product.stage.reads[product.shape.a]
        self._form, self._flat = memory.layout(self.source), memory.flat[self.source.memory]
        size = -(-product.most // TILE_ROWS) * TILE_ROWS * terms
        scratch = emit.add(alloca_op(bf16, size))
        memory.flat[scratch] = scratch
        starts = Linear.of({LOCAL_ROW: terms, self.term: TILE_ROWS, TERM_START: -TILE_ROWS})
        self.access = Access(scratch, starts, bf16)
        """Where tiles begin; their rows follow one another."""

    def copy(self, emit: Emitter, env: Env, rows: tuple[Index, Index], terms: SumBlock) -> None:
        """Copy the terms of a block; the last row again instead of rows behind it.

        Terms behind the last one are zeros.
        """
        whole = terms.count - terms.count % TILE_TERMS

        def line(inner: Emitter, number: Index) -> None:
            at = inner.least(inner.plus(rows[0], number), inner.minus(rows[1], 1))
            local = inner.minus(at, rows[0])
            position = {**env, self.row: at, LOCAL_ROW: local, self.term: terms.low}
            start = inner.linear(self._form, position)
            tile, within = inner.quotient(number, TILE_ROWS), inner.remainder(number, TILE_ROWS)
            to = inner.plus(
                inner.times(tile, TILE_ROWS * self.terms), inner.times(within, TILE_TERMS)
            )

            def some(deeper: Emitter, term: Index, mask: SSAValue | None = None) -> None:
                source = Elements(self._flat, deeper.plus(start, term), 1, TILE_TERMS, mask)
                found = load(deeper, source).value
                place = deeper.value(deeper.plus(to, deeper.times(term, TILE_ROWS)))
                deeper.run(vector_store_op(found, self.access.memory, place))

            inner.each(0, whole, TILE_TERMS, some)
            if whole != terms.count:
                some(inner, whole, inner.first_lanes(terms.count - whole, TILE_TERMS))

        count = emit.quotient(emit.plus(emit.minus(rows[1], rows[0]), TILE_ROWS - 1), TILE_ROWS)
        emit.each(0, emit.times(count, TILE_ROWS), 1, line)
