"""One task of a kernel around packed matrix products: what both of its modes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env, Envs, Memory
from lamina.passes.schedule.narrow_panel import panel_block
from lamina.passes.schedule.packed_product import PackedProduct, PartOfSum
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.points import over_points
from lamina.passes.schedule.product import ProductEmitter
from lamina.passes.schedule.product_ends import ReadEnds
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.register_tile import Tile
from lamina.passes.schedule.row_loops import RowLoops
from lamina.passes.schedule.stages import LOCAL_ROW, PANEL_START, Stage, is_temporary
from lamina.passes.schedule.sum_blocks import (
    AfterPanel,
    SumBlock,
    SumCut,
    over_panels,
    over_sum,
    over_sum_to,
)
from lamina.passes.schedule.sweeps import outputs_of
from lamina.passes.schedule.tile_fetch import verify_fetch
from lamina.passes.schedule.tile_product import TileProduct
from lamina.passes.schedule.totals_epilogue import TotalsEpilogue, verify_tile_followers


@record
class TaskDomain:
    """What a task computes: rows `[low, high)` at the position that `envs` has for each stage, and
    the `split`-th of `splits` ranges of columns."""

    envs: Envs
    rows: tuple[Index, Index]
    split: Index
    splits: int


class ProductTask(ABC):
    """What both modes share: one task's emission."""

    def __init__(
        self,
        emit: Emitter,
        plan: ProductPlan,
        memory: Memory,
        lines: RowLoops,
    ) -> None:
        """A task walks `lines`, rows in front of the last."""
        self.stages, self.products, self.blocks = plan.stages, plan.products, plan.blocks
        self.memory, self.lines = memory, lines
        self.backward = bool(plan.tasks.backward)
        self.outputs = outputs_of(plan.stages)
        self.visits_whole_rows = plan.visits_whole_rows
        self.scratch = plan.scratch
        """What whole rows are kept in, for tasks of these."""
        self.bounded = plan.bounded
        """Which part of each is needed."""
        if self.bounded is not None:
            self.bounded = self.bounded.with_counts(emit, dict(enumerate(memory.flat.values())))
        self.epilogue: TotalsEpilogue | None = None
        """What is computed of the product's tiles in registers."""
        self.ends: dict[Stage, ReadEnds] = {}
        """Where products end in a call."""

    @abstractmethod
    def task(self, emit: Emitter, domain: TaskDomain) -> None:
        """Emit one task."""

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
        packing, copy, lines = tiles.packing, tiles.copy, self.lines
        cut = SumCut(0, stage.extents[product.summed[0]])
        if copy is not None or product.shape.pairs is None or lines.places:
            cut = sum_cut(product) or cut
        extents, end = [stage.extents[d] for d in product.summed], self.ends[stage].terms
        whole: Index | None = self._whole_panels(product, tiles)
        if isinstance(tiles, ProductEmitter) and (columns := self.ends[stage].columns) is not None:
            tiles.columns = columns
            whole = emit.quotient(columns, product.panel) if self._streams() else 0

        def at_point(inner: Emitter, point: list[Index]) -> None:
            bound = {**env, **dict(zip(product.around, point, strict=True))}

            def block(outer: Emitter, place: list[Index], terms: SumBlock) -> None:
                here = {**bound, **dict(zip(product.summed, place, strict=False))}

                def line_env(inner: Emitter, env: Env, line: list[Index]) -> Env:
                    return {**env, **lines.env(stage, line), **lines.start(inner, line)}

                if copy is not None:
                    rows = copy

                    def copied(inner: Emitter, line: list[Index]) -> None:
                        rows.copy(inner, line_env(inner, here, line), limits, terms)

                    lines.each(outer, copied)

                def panel(deeper: Emitter, at: Index, masked: bool = False) -> None:
                    start = deeper.times(at, product.panel)
                    panel_env = {**here, PANEL_START: start}
                    if packing is not None and packing.together == 1:
                        packing.pack(deeper, panel_env, at, terms)

                    def tiled_line(inner: Emitter, line: list[Index]) -> None:
                        env = line_env(inner, panel_env, line)
                        panel_block(tiles, inner, env, limits, at, terms, masked=masked)
                        if after_panel is not None and terms.is_last:
                            after_panel(inner, env, start, line)

                    lines.each(deeper, tiled_line)

                def tiled(deeper: Emitter, first: Index, last: Index) -> None:
                    # Panels that are packed in pairs may have fewer tiles at the end.
                    masks = terms.is_last or product.shape.pairs is not None
                    limit = whole if masks else None
                    over_panels(deeper, (first, last), limit, panel, backward=self.backward)

                def group(deeper: Emitter, at: Index) -> None:
                    assert packing is not None
                    packing.pack(deeper, here, at, terms)
                    tiled(deeper, at, deeper.plus(at, packing.together))

                if packing is None or packing.together == 1:
                    tiled(outer, *panels)
                else:
                    outer.each(*panels, packing.together, group)

            tiles.begin(inner, bound, panels)
            if end is None:
                over_sum(inner, extents, cut, block)
            elif stage.schedule.terms is None:
                block(inner, [], SumBlock(0, extents[0], True, True, counted=end))
            else:
                over_sum_to(inner, cut, end, block)

        ends = self.ends[stage].around
        over_points(emit, [(0, ends.get(d, stage.extents[d])) for d in product.around], at_point)

    def in_registers(self, stage: Stage, followers: Sequence[Stage], envs: Envs) -> TotalsEpilogue:
        """What follows a product on the vectors of its tiles.

        What only these make and read is kept nowhere.
        """
        shape = self.products[stage]
        if shape.pairs is not None and (shape.pairs == shape.a or not stage.schedule.vectorize):
            raise illegal(followers[0].op, "compute_with: of totals in register tiles of vectors")
        column = shape.inner_column
        verify_tile_followers({follower: follower.inner[0] for follower in followers})
        dims = {s: {column: s.inner[0]} for s in followers}
        if self.blocks.is_blocked:
            places = (*self.lines.places, -1)
            dims = {
                s: {**{stage.rows[p]: s.rows[p] for p in places}, **own} for s, own in dims.items()
            }
        made = {write.memory for s in (stage, *followers) for write in s.writes}
        flat = self.memory.flat
        self.memory.dead.update(m for m in made if is_temporary(m) and m not in flat)
        lanes = TILE_COLUMNS if shape.pairs is not None else tile_of(self.packed(stage)).lanes
        return TotalsEpilogue(dims, envs, self.memory, self.outputs, lanes, column)

    def _streams(self) -> bool:
        """Whether results are stored past the caches: whole vectors only."""
        return any(stage.schedule.nontemporal is not None for stage in self.stages)

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
            pairs = TileProduct(product, self.memory, emit, together, part, self.lines)
            pairs.epilogue = self.epilogue
            return pairs
        tile = tile_of(product)
        verify_fetch(stage, shape.inner_column, reads=False)
        packing = self._panel_copy(emit, product, together)
        tiles = ProductEmitter(product, self.memory, tile, part, packing, self.lines, together)
        tiles.epilogue = self.epilogue
        if terms is not None:
            packs = self.scratch is not None and shape.task_packed
            if not is_alone or not self.visits_whole_rows or packs or tile.lanes == 1:
                raise illegal(
                    stage.op,
                    "terms: where rows are one dimension, tasks visit all columns of their panels, "
                    "those of whole rows pack none, and tiles are of vectors",
                )
            if tiles.cut is None or (shape.task_packed and len(product.summed) != 1):
                raise illegal(stage.op, f"terms = {terms}: {_legal_terms(product)}")
            tiles.keep_sums(emit, together)
        if schedule.cache_read:
            one = terms is None or tiles.cut is None or tiles.cut.place == len(product.summed) - 1
            if not is_alone or not copies or not one:
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
        columns = self.ends[product.stage].columns
        return PanelCopy(product, self.memory, emit, lanes, together, columns)

    @abstractmethod
    def _padded_scratch(self, stage: Stage) -> bool:
        """Whether the product's result has room for a whole last panel."""


def sum_cut(product: PackedProduct) -> SumCut | None:
    """The blocks of the sum that the schedule asks for."""
    extents, terms = (
        [product.stage.extents[d] for d in product.summed],
        product.stage.schedule.terms,
    )
    return None if terms is None else SumCut.of(extents, terms)


def _legal_terms(product: PackedProduct) -> str:
    extents = [product.stage.extents[d] for d in product.summed]
    last = extents[-1]
    some = [n for n in range(1, last + 1) if last % n == 0][-4:]
    return f"a sum over {' x '.join(map(str, extents))} may be cut in {', '.join(map(str, some))}"


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
    "prefetch_writes",
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
