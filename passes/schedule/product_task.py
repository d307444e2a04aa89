"""One task of a kernel around packed matrix products: what both of its modes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_ROWS, TILE_TERMS
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.double_buffer import DoubleBuffer
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.product import ProductEmitter, Tile, summed_dims
from lamina.passes.schedule.product_blocks import ProductBlocks
from lamina.passes.schedule.row_operand import RowCopy
from lamina.passes.schedule.stages import PANEL_START, Stage
from lamina.passes.schedule.sum_blocks import AfterPanel
from lamina.passes.schedule.tile_blocks import TileBlocks
from lamina.passes.schedule.tile_product import TileProduct


@dataclass(frozen=True)
class Blocks:
    """How the last rows of the kernel are divided: `size` of `rows` a task, if they are at all.

    Of live rows, the last block may have as few as a tile has.
    """

    is_blocked: bool
    rows: int
    size: int
    live: bool = False

    @property
    def count(self) -> int:
        """Blocks there are."""
        return -(-self.rows // self.size)

    @property
    def fewest(self) -> int:
        """Rows of the smallest block."""
        fewest = self.rows % self.size or self.size
        return min(fewest, TILE_ROWS) if self.live else fewest


@dataclass(frozen=True)
class TaskDomain:
    """What a task computes: rows `[low, high)` at the position that `envs` has for each stage, and
    the `split`-th of `splits` ranges of columns."""

    envs: dict[Stage, Env]
    rows: tuple[Index, Index]
    split: Index
    splits: int


class ProductTask:
    """What both modes share: one task's emission."""

    def __init__(
        self,
        stages: list[Stage],
        products: dict[Stage, Contraction],
        memory: Memory,
        outputs: set[SSAValue],
        blocks: Blocks,
        scratch: BlockScratch | None,
        bounded: BoundedBlock | None = None,
    ) -> None:
        """`scratch` is what whole rows are kept in, for tasks of whole rows, and `bounded` says
        which part of each is needed."""
        self.stages = stages
        self.products = products
        self.memory = memory
        self.outputs = outputs
        self.blocks = blocks
        self.scratch = scratch
        self.bounded = bounded

    def task(self, emit: Emitter, domain: TaskDomain) -> None:
        """Emit one task."""
        raise AssertionError("abstract")

    def product(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        after_panel: AfterPanel | None = None,
        together: int = 1,
        terms: tuple[Index, Index] | None = None,
        *,
        outside: bool = False,
    ) -> None:
        """All tiles of a product for a block of rows and a range of panels.

        Panels that the task packs itself are packed so many `together`, which divide the range.
        Only `terms` of the summed dimension are added up; all others are products with zeros if
        those `outside` count as well.
        """
        shape = self.products[stage]
        assert shape.panel is not None
        row_dim, smallest, extra = rows_of_tiles(stage, shape, self.blocks)
        limits = rows if self.blocks.is_blocked else (0, smallest)
        block = self.blocks.size
        if not self.blocks.is_blocked and row_dim is not None:
            block = stage.extents[row_dim]
        sums: TileBlocks | ProductBlocks | None = None
        if shape.pairs is not None and stage.schedule.cache_read:
            sums = self._tile_blocks(emit, stage, row_dim, extra, together)
        elif shape.pairs is None and stage.schedule.terms is not None:
            sums = self._product_blocks(emit, stage, row_dim, extra, together, smallest)
        if sums is not None:
            whole = stage.extents[shape.inner_column] // shape.panel
            if self._padded_scratch(stage):
                whole = panel_count(stage, shape)
            sums.emit_task(emit, env, limits, panels, whole, after_panel)
            return
        columns = stage.extents[shape.inner_column]
        whole = columns // shape.panel
        ragged = columns % shape.panel != 0
        packing: TileProduct | PanelCopy | None = None
        buffers: DoubleBuffer | None = None
        if shape.pairs is None:
            # Scratch may have room for a whole last panel; that may take fewer vectors still.
            lanes = tile_of(stage, shape, row_dim, smallest).lanes
            is_narrow = ragged and shape.panel - columns % shape.panel >= lanes
            ragged = ragged and (is_narrow or not self._padded_scratch(stage))
            if shape.task_packed:
                packing = self._panel_copy(emit, stage, together)
            tiles = self._register_tiles(
                emit,
                stage,
                env,
                row_dim,
                limits,
                smallest,
                block,
                extra,
                terms,
                packing,
                outside=outside,
            )
        else:
            most = block if row_dim is not None else 1
            product = TileProduct(
                stage,
                shape,
                self.memory,
                emit,
                together,
                row_dim,
                (smallest, most),
                terms,
                outside=outside,
            )
            buffers = product.buffers
            packing = product if product.packs and buffers is None else None
            tiles = partial(product.block, rows=limits)
        if columns % shape.panel != 0 and not ragged:
            whole += 1

        def at_point(inner: Emitter, point: list[Index]) -> None:
            bound = {**env, **dict(zip(extra, point, strict=True))}

            def panel(deeper: Emitter, at: Index, masked: bool = False) -> None:
                start = deeper.times(at, shape.panel or 1)
                panel_env = {**bound, PANEL_START: start}
                if packing is not None and packing.together == 1:
                    packing.pack(deeper, panel_env, at)
                tiles(deeper, panel_env, panel=at, masked=masked)
                if after_panel is not None:
                    after_panel(deeper, panel_env, start)

            def tiled(deeper: Emitter, first: Index, last: Index) -> None:
                if not ragged:
                    deeper.each(first, last, 1, panel)
                    return
                stop = deeper.least(last, whole)
                deeper.each(first, stop, 1, panel)
                tail = deeper.value(stop) if not isinstance(stop, int) else stop
                if isinstance(first, int):
                    tail = max(first, tail) if isinstance(tail, int) else tail
                deeper.each(tail, last, 1, partial(panel, masked=True))

            def group(deeper: Emitter, at: Index) -> None:
                assert packing is not None
                packing.pack(deeper, bound, at)
                tiled(deeper, at, deeper.plus(at, packing.together))

            if buffers is not None:
                buffers.begin(inner, bound, panels)
            if packing is None or packing.together == 1:
                tiled(inner, *panels)
            else:
                inner.each(*panels, packing.together, group)

        over_points(emit, [(0, stage.extents[d]) for d in extra], at_point)

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
        packing: PanelCopy | None,
        *,
        outside: bool,
    ) -> Callable[..., None]:
        """What emits the register tiles of a panel; its row operand may be copied in front."""
        shape, schedule = self.products[stage], stage.schedule
        tile = tile_of(stage, shape, row_dim, smallest)
        emitter = ProductEmitter(stage, shape, self.memory, tile, terms, packing, outside=outside)
        if schedule.cache_read:
            if extra or row_dim is None or schedule.cache_read != (shape.a,):
                raise illegal(
                    stage.op,
                    f"cache_read: of a product whose rows are one dimension, read {shape.a} may be",
                )
            copy = RowCopy(
                emit, stage, emitter.left, self.memory, row_dim, emitter.summed, block, tile.lanes
            )
            copy.copy(emit, env, limits)
            emitter.left = copy.access
        return partial(emitter.block, row_dim=row_dim, rows=limits, height=tile.rows)

    def _product_blocks(
        self,
        emit: Emitter,
        stage: Stage,
        row: int | None,
        extra: list[int],
        panels: int,
        smallest: int,
    ) -> ProductBlocks:
        """A product in register tiles whose sum is taken in blocks."""
        shape = self.products[stage]
        terms = stage.schedule.terms
        assert terms is not None
        tile = tile_of(stage, shape, row, smallest)
        if (
            (row is None or extra or not self.blocks.is_blocked or self.scratch is not None)
            or len(summed_dims(stage, shape)) != 1
            or tile.lanes == 1
            or stage.schedule.cache_read not in (None, (), (shape.a,))
        ):
            raise illegal(
                stage.op,
                "terms: of the only summed dimension, where rows are one dimension, tasks "
                "take ranges of panels, and tiles are of vectors",
            )
        packing = self._panel_copy(emit, stage, panels) if shape.task_packed else None
        rows = self.blocks.size
        return ProductBlocks(
            stage, shape, self.memory, emit, tile, row, rows, panels, terms, packing
        )

    def _tile_blocks(
        self, emit: Emitter, stage: Stage, row: int | None, extra: list[int], panels: int
    ) -> TileBlocks:
        """A product in matrix tiles whose sum is taken in blocks."""
        shape, terms = self.products[stage], stage.schedule.terms
        if (
            not is_packed_in_tasks(shape)
            or (row is None or extra or not self.blocks.is_blocked)
            or stage.schedule.cache_read != (shape.a,)
            or terms is None
            or terms % TILE_TERMS
        ):
            raise illegal(
                stage.op,
                f"cache_read: of read {shape.a}, beside terms that are a multiple of {TILE_TERMS}, "
                "where tasks pack pairs, and rows are one dimension",
            )
        return TileBlocks(stage, shape, self.memory, emit, self.blocks.size, panels, terms)

    def _panel_copy(self, emit: Emitter, stage: Stage, panels: int) -> PanelCopy:
        """What packs the columns of a task of so many panels, as many at a time as is asked for."""
        shape, tile, vectorize = self.products[stage], stage.schedule.tile, stage.schedule.vectorize
        assert shape.panel is not None
        together, rest = divmod(shape.panel if tile is None else tile.count, shape.panel)
        column = shape.inner_column
        if rest or panels % together or (tile is not None and tile.dim != column):
            raise illegal(
                stage.op,
                f"tile: of d{column}, so many panels of {shape.panel} that they divide {panels}",
            )
        lanes = 1 if vectorize is None else vectorize.count
        terms = stage.schedule.terms
        return PanelCopy(stage, shape, self.memory, emit, lanes, together, terms)

    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""
        return False


def panel_count(stage: Stage, shape: Contraction) -> int:
    """The panels of a product, the last one perhaps not full."""
    assert shape.panel is not None
    return -(-stage.extents[shape.inner_column] // shape.panel)


def rows_of_tiles(
    stage: Stage, shape: Contraction, blocks: Blocks
) -> tuple[int | None, int, list[int]]:
    """The tiled row dimension, if there is one, the fewest rows, and the dims to loop over."""
    free = [
        d
        for d in (*shape.batch, *shape.rows, *shape.columns[:-1])
        if d not in stage.rows and stage.extents[d] != 1
    ]
    if blocks.is_blocked:
        return stage.rows[-1], blocks.fewest, free
    inner_rows = [d for d in shape.rows if d in free]
    if not inner_rows:
        return None, 1, free
    tiled = inner_rows[-1]
    free.remove(tiled)
    return tiled, stage.extents[tiled], free


TILE_CLAUSES = ("vectorize", "unroll", "jam", "cache_read", "nontemporal", "terms")
"""Clauses of a product in register tiles."""


def tile_of(stage: Stage, shape: Contraction, row: int | None, fewest: int) -> Tile:
    """The register tile that the schedule asks for; a row of scalars where it does not."""
    schedule, panel = stage.schedule, shape.panel or 1
    legal = (*TILE_CLAUSES, "tile") if shape.task_packed else TILE_CLAUSES
    if others := [name for name in schedule.texts() if name not in legal]:
        said = ", ".join(others)
        raise illegal(stage.op, f"{said}: a packed product here may have {', '.join(legal)}")
    column = shape.inner_column
    lanes = 1 if schedule.vectorize is None else schedule.vectorize.count
    vectors = panel // lanes
    if schedule.vectorize is not None and schedule.vectorize.dim != column:
        raise illegal(stage.op, f"vectorize: vectors of this product run along d{column}")
    if panel % lanes or schedule.unroll not in (None, vectors):
        raise illegal(
            stage.op, f"vectorize, unroll: {schedule.unroll} x {lanes} is no panel of {panel}"
        )
    if schedule.jam is None:
        return Tile(1, vectors, lanes)
    if schedule.jam.dim != row or schedule.jam.count > fewest:
        where = "no dimension" if row is None else f"d{row} x {fewest} at most"
        raise illegal(stage.op, f"jam: tiles of this product go along {where}")
    return Tile(schedule.jam.count, vectors, lanes)
