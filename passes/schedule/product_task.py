"""One task of a kernel around packed matrix products: what both of its modes share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_TERMS
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.double_buffer import DoubleBuffer
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory
from lamina.passes.schedule.packed_product import Blocks, PackedProduct, PartOfSum
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.product import ProductEmitter, Tile
from lamina.passes.schedule.product_blocks import ProductBlocks
from lamina.passes.schedule.row_operand import RowCopy
from lamina.passes.schedule.stages import PANEL_START, Access, Stage
from lamina.passes.schedule.sum_blocks import AfterPanel, over_panels
from lamina.passes.schedule.tile_blocks import TileBlocks
from lamina.passes.schedule.tile_product import TileProduct


@dataclass(frozen=True)
class TaskDomain:
    """What a task computes: rows `[low, high)` at the position that `envs` has for each stage, and
    the `split`-th of `splits` ranges of columns."""

    envs: Envs
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

    def packed(self, stage: Stage) -> PackedProduct:
        """The product of a stage, as tasks compute it."""
        return PackedProduct.of(stage, self.products[stage], self.blocks)

    def product(
        self,
        emit: Emitter,
        stage: Stage,
        env: Env,
        rows: tuple[Index, Index],
        panels: tuple[Index, Index],
        after_panel: AfterPanel | None = None,
        together: int = 1,
        part: PartOfSum | None = None,
    ) -> None:
        """All tiles of a product for a block of rows and a range of panels.

        Panels that the task packs itself are packed so many `together`, which divide the range.
        """
        product = self.packed(stage)
        limits = rows if self.blocks.is_blocked else (0, product.fewest)
        whole, rest = divmod(product.columns, product.panel)
        if (sums := self._in_blocks(emit, product, together)) is not None:
            whole = product.panels if self._padded_scratch(stage) else whole
            sums.emit_task(emit, env, limits, panels, whole, after_panel)
            return
        ragged = rest != 0
        packing: TileProduct | PanelCopy | None = None
        buffers: DoubleBuffer | None = None
        if product.shape.pairs is None:
            # Scratch may have room for a whole last panel; that may take fewer vectors still.
            tile = tile_of(product)
            is_narrow = ragged and product.panel - rest >= tile.lanes
            ragged = ragged and (is_narrow or not self._padded_scratch(stage))
            packing = self._panel_copy(emit, product, together)
            tiles = ProductEmitter(product, self.memory, tile, part, packing)
            if stage.schedule.cache_read:
                tiles.left = self._copy_rows(emit, product, tile, env, limits)
        else:
            tiles = TileProduct(product, self.memory, emit, together, part)
            buffers = tiles.buffers
            packing = tiles if tiles.packs and buffers is None else None

        def at_point(inner: Emitter, point: list[Index]) -> None:
            bound = {**env, **dict(zip(product.around, point, strict=True))}

            def panel(deeper: Emitter, at: Index, masked: bool = False) -> None:
                start = deeper.times(at, product.panel)
                panel_env = {**bound, PANEL_START: start}
                if packing is not None and packing.together == 1:
                    packing.pack(deeper, panel_env, at)
                tiles.block(deeper, panel_env, limits, at, masked=masked)
                if after_panel is not None:
                    after_panel(deeper, panel_env, start)

            def tiled(deeper: Emitter, first: Index, last: Index) -> None:
                over_panels(deeper, (first, last), whole if ragged else None, panel)

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

        over_points(emit, [(0, stage.extents[d]) for d in product.around], at_point)

    def _copy_rows(
        self,
        emit: Emitter,
        product: PackedProduct,
        tile: Tile,
        env: Env,
        rows: tuple[Index, Index],
    ) -> Access:
        """Emit a copy of the rows of a product in register tiles, to be read instead."""
        a = product.shape.a
        if product.around or product.row is None or product.stage.schedule.cache_read != (a,):
            reason = f"cache_read: of a product whose rows are one dimension, read {a} may be"
            raise illegal(product.stage.op, reason)
        copy = RowCopy(emit, product, self.memory, tile.lanes)
        copy.copy(emit, env, rows)
        return copy.access

    def _in_blocks(
        self, emit: Emitter, product: PackedProduct, panels: int
    ) -> TileBlocks | ProductBlocks | None:
        """What emits a product of so many panels whose sum is taken in blocks, if it is."""
        stage, shape, schedule = product.stage, product.shape, product.stage.schedule
        is_alone = product.row is not None and not product.around and self.blocks.is_blocked
        terms = schedule.terms
        if shape.pairs is not None and schedule.cache_read:
            copies = schedule.cache_read == (shape.a,) and is_packed_in_tasks(shape)
            if not is_alone or not copies or terms is None or terms % TILE_TERMS:
                raise illegal(
                    stage.op,
                    f"cache_read: of read {shape.a}, beside terms that are a multiple of "
                    f"{TILE_TERMS}, where tasks pack pairs, and rows are one dimension",
                )
            return TileBlocks(product, self.memory, emit, panels, terms)
        if shape.pairs is not None or terms is None:
            return None
        tile = tile_of(product)
        if (
            (not is_alone or self.scratch is not None or len(product.summed) != 1)
            or tile.lanes == 1
            or schedule.cache_read not in (None, (), (shape.a,))
        ):
            raise illegal(
                stage.op,
                "terms: of the only summed dimension, where rows are one dimension, tasks "
                "take ranges of panels, and tiles are of vectors",
            )
        packing = self._panel_copy(emit, product, panels)
        return ProductBlocks(product, self.memory, emit, tile, panels, packing)

    def _panel_copy(self, emit: Emitter, product: PackedProduct, panels: int) -> PanelCopy | None:
        """What packs the columns of a task of so many panels, as many at a time as is asked for.

        None where they are packed already.
        """
        if not product.shape.task_packed:
            return None
        tile, vectorize = product.stage.schedule.tile, product.stage.schedule.vectorize
        together, rest = divmod(product.panel if tile is None else tile.count, product.panel)
        column = product.column
        if rest or panels % together or (tile is not None and tile.dim != column):
            raise illegal(
                product.stage.op,
                f"tile: of d{column}, so many panels of {product.panel} that they divide {panels}",
            )
        lanes = 1 if vectorize is None else vectorize.count
        return PanelCopy(product, self.memory, emit, lanes, together)

    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""
        return False


TILE_CLAUSES = ("vectorize", "unroll", "jam", "cache_read", "nontemporal", "terms")
"""Clauses of a product in register tiles."""


def tile_of(product: PackedProduct) -> Tile:
    """The register tile that the schedule asks for; a row of scalars where it does not."""
    stage, shape, row, fewest = product.stage, product.shape, product.row, product.fewest
    schedule, panel = stage.schedule, product.panel
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
