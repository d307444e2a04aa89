"""One task of a kernel around packed matrix products: what both of its modes share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_TERMS
from lamina.passes.schedule.block_scratch import BlockScratch
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory
from lamina.passes.schedule.packed_product import Blocks, PackedProduct, PartOfSum
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.product import ProductEmitter, Tile
from lamina.passes.schedule.product_ends import ReadEnds
from lamina.passes.schedule.stages import LOCAL_ROW, PANEL_START, Stage
from lamina.passes.schedule.sum_blocks import AfterPanel, SumBlock, over_panels, over_sum
from lamina.passes.schedule.tile_product import TileProduct
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue


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
        self.epilogue: TotalsEpilogue | None = None
        """What is computed of the product's tiles in registers."""
        self.ends: dict[Stage, ReadEnds] = {}
        """Where products end in a call."""

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
        tiles = self._tiles(emit, product, together, part)
        packing, copy, extent = tiles.packing, tiles.copy, stage.extents[product.summed[0]]
        size = extent
        if copy is not None or product.shape.pairs is None:
            size = stage.schedule.terms or extent
        whole = self._whole_panels(product, tiles)

        def at_point(inner: Emitter, point: list[Index]) -> None:
            bound = {**env, **dict(zip(product.around, point, strict=True))}

            def block(outer: Emitter, terms: SumBlock) -> None:
                if copy is not None:
                    copy.copy(outer, bound, limits, terms)

                def panel(deeper: Emitter, at: Index, masked: bool = False) -> None:
                    start = deeper.times(at, product.panel)
                    panel_env = {**bound, PANEL_START: start}
                    if packing is not None and packing.together == 1:
                        packing.pack(deeper, panel_env, at, terms)
                    tiles.block(deeper, panel_env, limits, at, terms, masked=masked)
                    if after_panel is not None and terms.is_last:
                        after_panel(deeper, panel_env, start)

                def tiled(deeper: Emitter, first: Index, last: Index) -> None:
                    over_panels(deeper, (first, last), whole if terms.is_last else None, panel)

                def group(deeper: Emitter, at: Index) -> None:
                    assert packing is not None
                    packing.pack(deeper, bound, at, terms)
                    tiled(deeper, at, deeper.plus(at, packing.together))

                if packing is None or packing.together == 1:
                    tiled(outer, *panels)
                else:
                    outer.each(*panels, packing.together, group)

            tiles.begin(inner, bound, panels)
            over_sum(inner, extent, size, block)

        over_points(emit, [(0, stage.extents[d]) for d in product.around], at_point)

    def _whole_panels(
        self, product: PackedProduct, tiles: ProductEmitter | TileProduct
    ) -> int | None:
        """How many panels come in front of one that is not full, if that is stored in part.

        Scratch may have room for a whole last panel; that may take fewer vectors still.
        """
        whole, rest = divmod(product.columns, product.panel)
        if rest == 0:
            return None
        if isinstance(tiles, ProductEmitter) and self._padded_scratch(product.stage):
            is_narrow = product.panel - rest >= tiles.tile.lanes and tiles.sums is None
            return whole if is_narrow else None
        return whole

    def _tiles(
        self, emit: Emitter, product: PackedProduct, together: int, part: PartOfSum | None
    ) -> ProductEmitter | TileProduct:
        """What emits a product of so many panels `together`, or so many that are packed here."""
        stage, shape, schedule = product.stage, product.shape, product.stage.schedule
        is_alone = product.row is not None and not product.around
        copies, terms = schedule.cache_read == (shape.a,), schedule.terms
        if shape.pairs is not None:
            is_alone = is_alone and self.blocks.is_blocked and is_packed_in_tasks(shape)
            legal = copies and is_alone and terms is not None and terms % TILE_TERMS == 0
            if schedule.cache_read and not legal:
                raise illegal(
                    stage.op,
                    f"cache_read: of read {shape.a}, beside terms that are a multiple of "
                    f"{TILE_TERMS}, where tasks pack pairs, and rows are one dimension",
                )
            return TileProduct(product, self.memory, emit, together, part)
        tile = tile_of(product)
        packing = self._panel_copy(emit, product, together)
        tiles = ProductEmitter(product, self.memory, tile, part, packing)
        tiles.epilogue = self.epilogue
        if terms is not None:
            whole = self.scratch is not None or not self.blocks.is_blocked
            if not is_alone or whole or len(product.summed) != 1 or tile.lanes == 1:
                raise illegal(
                    stage.op,
                    "terms: of the only summed dimension, where rows are one dimension, tasks "
                    "take ranges of panels, and tiles are of vectors",
                )
            tiles.keep_sums(emit, together)
        if schedule.cache_read:
            if not is_alone or not copies:
                reason = f"cache_read: of a product whose rows are one dimension, read {shape.a}"
                raise illegal(stage.op, f"{reason} may be")
            tiles.copy_rows(emit)
        return tiles

    def _at_row(self, emit: Emitter, envs: Envs, at: Index, rows: tuple[Index, Index]) -> Envs:
        """The positions of stages in one of the rows of the block."""
        local, divided = emit.minus(at, rows[0]), self.blocks.is_blocked
        return {
            stage: {**env, LOCAL_ROW: local, **({stage.rows[-1]: at} if divided else {})}
            for stage, env in envs.items()
        }

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
            sizes = [n * product.panel for n in range(1, panels + 1) if panels % n == 0]
            raise illegal(
                product.stage.op,
                f"tile: of the columns of a task, in panels: d{column} x "
                f"{' or '.join(map(str, sizes))}",
            )
        lanes = 1 if vectorize is None else vectorize.count
        return PanelCopy(product, self.memory, emit, lanes, together)

    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""
        return False


TILE_CLAUSES = (
    "vectorize",
    "unroll",
    "jam",
    "tail",
    "cache_read",
    "nontemporal",
    "nontemporal_from",
    "terms",
    "prefetch",
    "prefetch_bytes",
    "prefetch_panels",
)
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
    height = 1 if schedule.jam is None else schedule.jam.count
    if schedule.tail is not None and schedule.tail[0] > height:
        legal = f"at most {height}, the rows of a tile"
        raise illegal(stage.op, f"tail = {list(schedule.tail)}: {legal}")
    if schedule.jam is None:
        return Tile(1, vectors, lanes)
    if schedule.jam.dim != row or height > fewest:
        where = "no dimension" if row is None else f"d{row} x {fewest} at most"
        raise illegal(stage.op, f"jam: tiles of this product go along {where}")
    return Tile(height, vectors, lanes)
