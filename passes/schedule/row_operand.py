"""The row operand of a product, copied into scratch where its own layout would be slow to read.

Rows a power of two apart fall into the same few sets of the first-level cache, and summed
dimensions that are not contiguous touch a cache line per element; a copy per block of rows costs
one pass over the block and is read once for every panel.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import memref

from lamina.dialects.loop.linear import Linear
from lamina.passes.cost.product_limits import ROW_PADDING_BYTES
from lamina.passes.schedule.body import load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.peel import Vectors, each_vector
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.stages import LOCAL_ROW, TERM_START, Access
from lamina.passes.schedule.strided_access import Elements


class RowCopy:
    """Scratch for the rows of a task, and what copies them, `lanes` elements at a time."""

    def __init__(
        self,
        emit: Emitter,
        product: PackedProduct,
        memory: Memory,
        lanes: int,
        terms: int | None = None,
    ) -> None:
        """Room for all rows of a task of the product, or for so many `terms` of each.

        Terms are counted along its only summed dimension.
        """
        assert product.row is not None
        stage, summed, self.row = product.stage, product.summed, product.row
        self.source = access = stage.reads[product.shape.a]
        self.summed = summed
        self._flat = memory.flat[access.memory]
        self._extents = [stage.extents[d] for d in summed] if terms is None else [terms]
        bits = access.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        pitch = prod(self._extents) + ROW_PADDING_BYTES * 8 // bits
        scratch = emit.add(memref.AllocaOp.get(access.element, 64, [product.most * pitch]))
        memory.flat[scratch] = scratch
        offset: dict[int, int] = {LOCAL_ROW: pitch}
        step = 1
        for dim, extent in zip(reversed(summed), reversed(self._extents), strict=True):
            offset[dim] = step
            step *= extent
        self._form = Linear.of(offset)
        self._lanes = 1 << min(lanes, max(1, self._extents[-1])).bit_length() - 1
        start = Linear(((TERM_START, -1),)) if terms is not None else Linear(())
        self.access = Access(scratch, self._form.add(start), access.element)
        """The copy, which is read instead."""

    def copy(
        self,
        emit: Emitter,
        env: Env,
        rows: tuple[Index, Index],
        first: Index = 0,
        terms: int | None = None,
    ) -> None:
        """Copy rows `[low, high)`, of each all or so many terms from the `first` on."""
        extents = self._extents if terms is None else [terms]

        def row(inner: Emitter, at: Index) -> None:
            position = {**env, self.row: at, LOCAL_ROW: inner.minus(at, rows[0])}
            self._line(inner, position, first, extents)

        emit.each(*rows, 1, row)

    def _line(self, emit: Emitter, position: Env, first: Index, extents: list[int]) -> None:
        *outer, dim = self.summed
        *counts, extent = extents

        def line(inner: Emitter, at: list[Index]) -> None:
            here = {**position, **dict(zip(outer, at, strict=True))}

            def move(deeper: Emitter, term: Vectors) -> None:
                self._move(deeper, here, first, dim, term)

            each_vector(inner, (0, extent), self._lanes, move)

        over_points(emit, [(0, count) for count in counts], line)

    def _move(self, emit: Emitter, position: Env, first: Index, dim: int, term: Vectors) -> None:
        source, lanes, scratch = self.source, self._lanes, self.access.memory
        at = emit.linear(source.offset, {**position, dim: emit.plus(first, term.at)})
        stride = source.stride(dim)
        value = load(emit, Elements(self._flat, at, stride, lanes, term.mask)).value
        place = emit.linear(self._form, {**position, dim: term.at})
        store(emit, value, Elements(scratch, place, 1, lanes, term.mask))
