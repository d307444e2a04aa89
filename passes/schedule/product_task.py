"""One task of a kernel around packed matrix products: what both of its modes share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import Contraction
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.emitter import Emitter, Index, LoopBody
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.product import ProductEmitter, Tile, choose_tile
from lamina.passes.schedule.row_operand import copy_rows, needs_copy
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.tile_product import TileProduct

PANEL_START = -2
"""Pseudo-dimension of panel scratch: the first column of the panel at hand."""


class ProductTask:
    """What both modes share: one task's emission."""

    def __init__(
        self,
        stages: list[Stage],
        products: dict[Stage, Contraction],
        memory: Memory,
        target: Target,
        outputs: set[SSAValue],
        blocked: bool,
        rows: int,
        block: int,
        bits: int,
        scratch: BlockScratch | None,
        bounded: BoundedBlock | None = None,
    ) -> None:
        """`scratch` is what whole rows are kept in, for tasks of whole rows, and `bounded` says
        which part of each is needed."""
        self.stages = stages
        self.products = products
        self.memory = memory
        self.target = target
        self.outputs = outputs
        self.blocked = blocked
        self.rows = rows
        self.block = block
        self.bits = bits
        self.scratch = scratch
        self.bounded = bounded

    def column_tasks(self, others: int) -> int:
        """Into how many tasks the columns are divided, given the number of other tasks."""
        return 1

    def task(
        self,
        emit: Emitter,
        envs: dict[Stage, Env],
        rows: tuple[Index, Index],
        split: Index,
        splits: int,
    ) -> None:
        """Emit one task: rows `[low, high)` and the `split`-th of `splits` column ranges."""
        raise AssertionError("abstract")

    def tile(self, shape: Contraction, rows: int) -> Tile:
        """The register tile of a product for blocks of that many rows."""
        assert shape.panel is not None
        return choose_tile(shape.panel, self.bits, rows, self.target)

    def product(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        after_panel: object = None,
        together: int = 1,
        terms: tuple[Index, Index] | None = None,
    ) -> None:
        """All tiles of a product for a block of rows and a range of panels.

        Panels that the task packs itself are packed so many `together`, which divide the range. All
        terms but `terms` of the summed dimension are products with zeros.
        """
        shape = self.products[stage]
        assert shape.panel is not None
        row_dim, limits, extra = self._tiled_rows(stage, shape, rows)
        low, high = limits
        smallest = high - low if isinstance(low, int) and isinstance(high, int) else self.block
        if self.rows % self.block and row_dim is not None and self.blocked:
            smallest = min(smallest, self.rows % self.block)
        block = self.block if self.blocked or row_dim is None else stage.extents[row_dim]
        columns = stage.extents[shape.inner_column]
        whole = columns // shape.panel
        ragged = columns % shape.panel != 0
        packing: TileProduct | None = None
        if shape.pairs is None:
            ragged = ragged and not self._padded_scratch(stage)
            tiles = self._register_tiles(
                emit, stage, env, row_dim, limits, smallest, block, extra, terms
            )
        else:
            product = TileProduct(stage, shape, self.memory, emit, together)
            packing = product if product.packs else None
            tiles = partial(
                product.block,
                row_dim=row_dim,
                rows=limits,
                fewest=smallest,
                most=block if row_dim is not None else 1,
            )
        if columns % shape.panel != 0 and not ragged:
            whole += 1

        def nest(inner: Emitter, dims: list[int], bound: Env) -> None:
            if dims:
                dim, *rest = dims

                def body(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                    nest(deeper, rest, {**bound, dim: at})
                    return values

                inner.loop(0, stage.extents[dim], 1, [], body)
                return

            def panel_at(masked: bool) -> LoopBody:
                def body(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
                    start = deeper.times(at, shape.panel or 1)
                    panel_env = {**bound, PANEL_START: start}
                    if packing is not None and together == 1:
                        packing.pack(deeper, panel_env, at)
                    tiles(deeper, panel_env, panel=at, masked=masked)
                    if callable(after_panel):
                        after_panel(deeper, panel_env, start)
                    return values

                return body

            first, last = panels
            if packing is not None and together != 1:
                packing.pack(inner, bound, first)
            if not ragged:
                inner.loop(first, last, 1, [], panel_at(False))
                return
            stop = inner.least(last, whole)
            inner.loop(first, stop, 1, [], panel_at(False))
            tail = inner.value(stop) if not isinstance(stop, int) else stop
            if isinstance(first, int):
                tail = max(first, tail) if isinstance(tail, int) else tail
            inner.loop(tail, last, 1, [], panel_at(True))

        nest(emit, extra, env)

    def _register_tiles(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        row_dim: int | None,
        limits: tuple[Index, Index],
        smallest: int,
        block: int,
        extra: list[int],
        terms: tuple[Index, Index] | None,
    ) -> Callable[..., None]:
        """What emits the register tiles of a panel; its row operand may be copied in front."""
        shape = self.products[stage]
        assert shape.panel is not None
        tile = self.tile(shape, self.block if self.blocked else smallest)
        if tile.rows > smallest:
            tile = Tile(smallest, tile.vectors, tile.lanes)
        emitter = ProductEmitter(stage, shape, self.memory, tile, terms)
        panel_count = -(-stage.extents[shape.inner_column] // shape.panel)
        summed = emitter.summed
        if not extra and needs_copy(
            stage, emitter.left, row_dim, summed, self.memory, panel_count, block
        ):
            assert row_dim is not None
            emitter.left = copy_rows(
                emit,
                stage,
                emitter.left,
                self.memory,
                env,
                row_dim,
                summed,
                limits,
                block,
                self.target,
            )
        return partial(emitter.block, row_dim=row_dim, rows=limits, height=tile.rows)

    def _tiled_rows(
        self, stage: Stage, shape: Contraction, rows: tuple[Index, Index]
    ) -> tuple[int | None, tuple[Index, Index], list[int]]:
        """The tiled row dimension with its range, and the dims to loop over around the tiles."""
        free = [
            d
            for d in (*shape.batch, *shape.rows, *shape.columns[:-1])
            if d not in stage.rows and stage.extents[d] != 1
        ]
        if self.blocked:
            return stage.rows[-1], rows, free
        inner_rows = [d for d in shape.rows if d in free]
        if not inner_rows:
            return None, (0, 1), free
        tiled = inner_rows[-1]
        free.remove(tiled)
        return tiled, (0, stage.extents[tiled]), free

    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""
        return False
