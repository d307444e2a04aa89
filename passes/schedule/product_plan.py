"""How a part around packed products is set up: its rows in order, and what its tasks take of them.

One plan is asked by all: by the chooser, which decides what is open, by `product_kernel`, which
carries out what stands there, and by what follows from that (`product_rows`, `visited_panels`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.schedule.block_scratch import BlockScratch, Segment, plan_block, segments_of
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.even_blocks import least_together, shares_evenly
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.packed_product import Blocks, panel_count
from lamina.passes.schedule.stages import Stage, collapse, is_one_line
from lamina.passes.schedule.stream_plan import StreamPlan
from lamina.passes.schedule.sweeps import columns_stay_apart

Products = dict[Stage, Contraction]


class ProductPlan:
    """A part around packed products as its schedule says, as far as that is decided.

    What follows is found when it is asked for: the chooser decides meanwhile what it depends on.
    """

    columns: int
    """How many rows are outer columns of a product, in front of all others."""
    batches: int
    """How many rows behind them are batches, such as the groups of a convolution."""
    behind: int
    """How many rows stood behind the one that tiles go along: neighbours in memory, as the places
    of a window are, which one thread had better write."""

    def __init__(
        self,
        stages: list[Stage],
        tasks: ProductTasks,
        tiled_row: Callable[[Products], int | None],
    ) -> None:
        """Puts the rows of the stages in order (in place).

        `tiled_row` says which dimension of the first product tiles go along; None for its last row.
        """
        self.stages = stages
        self.tasks = tasks
        self.products = products_of(stages)
        self._order_rows(tiled_row(self.products))
        self.panel_mode = self._computes_at_panels()
        """Whether tasks take ranges of panels, and what follows is computed for each panel."""
        self._join_rows()

    @staticmethod
    def of(stages: list[Stage], tasks: ProductTasks) -> ProductPlan:
        """The plan of a part whose schedule is complete, in place.

        Raises InputError for a schedule that it cannot have.
        """
        plan = ProductPlan(stages, tasks, jammed_row)
        plan.loop_over_columns()
        return plan

    def complete(self, **clauses: object) -> None:
        """Add clauses to the schedule; those that stand there already win."""
        chosen = ProductTasks(**clauses)  # pyright: ignore[reportArgumentType]
        self.tasks = self.tasks.completed_by(chosen)

    @property
    def first(self) -> tuple[Stage, Contraction]:
        """The first product; tasks of panels have no other."""
        return next(iter(self.products.items()))

    @property
    def panels(self) -> int:
        """Panels of the first product, the last one perhaps not full."""
        return panel_count(*self.first)

    @property
    def is_blocked(self) -> bool:
        """Whether the last row is one that every product walks with its row operand only."""
        if not self.stages[0].rows:
            return False
        return all(stage.rows[-1] in shape.rows for stage, shape in self.products.items())

    @property
    def outer_extents(self) -> list[int]:
        """Extents of the rows that are not divided into blocks."""
        extents = [self.stages[0].extents[d] for d in self.stages[0].rows]
        return extents[:-1] if self.is_blocked else extents

    @property
    def blocks(self) -> Blocks:
        """How the last rows are divided; all in one block where the schedule does not say."""
        if not self.is_blocked:
            return Blocks(False, 1, 1)
        first, last = self.stages[0], self.stages[0].rows[-1]
        rows = first.extents[last]
        live = any(digit.count is not None for digit in self._block_digits)
        return Blocks(True, rows, min(rows, self.tasks.block or rows), live)

    @cached_property
    def stream(self) -> StreamPlan | None:
        """How tasks of whole rows walk a dimension in blocks, if they do."""
        if self.panel_mode or not self.is_blocked:
            return None
        return StreamPlan.of(self.stages, self.products)

    @cached_property
    def segments(self) -> list[Segment]:
        """What stands between the products, or is all that follows one panel by panel.

        What whole rows compute of register tiles is part of the product's own segment.
        """
        if self.panel_mode:
            return [self.stages[1:]] if len(self.stages) > 1 else []
        found = segments_of(self.stages, self.products, self.stream)
        return [segment for segment in found if segment[0] not in self.products]

    @cached_property
    def scratch(self) -> BlockScratch | None:
        """What tasks of whole rows keep, by the sweeps that the schedules say."""
        return None if self.panel_mode else plan_block(self.stages, self.products, self.stream)

    @cached_property
    def bounded(self) -> BoundedBlock | None:
        """What tasks visit of a dimension that has bounds, where they end there."""
        if self.scratch is None or not self.is_blocked:
            return None
        return BoundedBlock.of(self.scratch.segments, self.products)

    @property
    def is_level(self) -> bool:
        """Whether tasks of all rows visit as much."""
        return self.bounded is None or self.bounded.is_level

    @property
    def visits_whole_rows(self) -> bool:
        """Whether products are made for all columns and terms of a block, one after the other."""
        return self.is_blocked and self.stream is None and self.bounded is None

    @property
    def tile_rows(self) -> int:
        """Rows that each block has at least: those of the largest tile that may be its only one."""
        jams = [stage.schedule.jam for stage in self.products]
        tiled = any(shape.pairs is not None for shape in self.products.values())
        if tiled or any(jam is None for jam in jams):
            return self.blocks.fewest
        tails = [stage.schedule.tail for stage in self.products]
        return max(
            tail[-1] if tail else jam.count
            for tail, jam in zip(tails, jams, strict=True)
            if jam is not None
        )

    @property
    def tile_unit(self) -> int:
        """Rows of the register tiles of all products; 1 where they differ, or are of pairs."""
        jams = {stage.schedule.jam for stage in self.products}
        (jam, *others) = jams
        in_pairs = any(shape.pairs is not None for shape in self.products.values())
        return 1 if jam is None or others or in_pairs else jam.count

    @property
    def can_share_evenly(self) -> bool:
        """Whether blocks of live rows may be of any size."""
        return self._shares_evenly(self.tile_rows)

    @property
    def runs_live_rows(self) -> bool:
        """Whether blocks of live rows end with the last that counts: tiles reach behind no row."""
        if self.tile_rows == 1:
            return True
        return self.tasks.num_threads is not None and self.fills_tiles(self.tile_rows)

    def fills_tiles(self, height: int) -> bool:
        """Whether blocks of live rows of any size have `height` rows that count in any call."""
        if not (self.is_level and self._shares_evenly(height)):
            return False
        return least_together(self._block_digits) >= height

    @property
    def _block_digits(self) -> Sequence[Digit]:
        """Those of the row that is divided into blocks; none where all of it counts."""
        first = self.stages[0]
        return live_digits(first.op).get(first.rows[-1], ())

    def _shares_evenly(self, height: int) -> bool:
        return self.blocks.live and shares_evenly(self._block_digits, self.blocks.size, height)

    def loop_over_columns(self) -> None:
        """Let each task of a lone product walk its outer columns, if tasks do so (in place)."""
        if self.tasks.outer_columns != "loops":
            return
        if len(self.stages) > 1:
            legal = "only a product alone may"
            raise illegal(self.stages[0].op, f"outer_columns = loops: {legal}")
        for stage in self.stages:
            stage.inner = stage.rows[: self.columns] + stage.inner
            stage.rows = stage.rows[self.columns :]
        self.columns = 0

    def _join_rows(self) -> None:
        """Join rows of all products that every access walks as one, as the lines of images are: a
        task reads all panels for its block, which a line alone would hardly share.

        Those that end at numbers of the call stay apart: they would not end there. So do those of
        ranges of panels whose last line is not joined: a task may walk all lines of an image.
        """
        stages, products = self.stages, self.products
        places = range(self.columns + self.batches, len(stages[0].rows))
        if self.panel_mode and not (len(places) > 1 and is_one_line(stages, places[-2])):
            return
        alone = all(s.rows[p] in shape.rows for s, shape in products.items() for p in places)
        if alone and not self.behind and not live_digits(stages[0].op):
            collapse(stages, [[stage.rows[p] for p in places] for stage in stages])

    def _order_rows(self, tiled: int | None) -> None:
        """Put outer columns in front of the rows, and make the contiguous ones inner.

        Behind them come batches: the last row is what tiles go along, and the panels of a batch
        stay near while its rows are multiplied. That is the last one, or the one that is `tiled`.
        """
        stages, products = self.stages, self.products
        places = range(len(stages[0].rows))
        inner = [
            p
            for p in places
            if any(s.rows[p] == shape.inner_column for s, shape in products.items())
        ]
        outer = [
            p
            for p in places
            if p not in inner and any(s.rows[p] in shape.columns for s, shape in products.items())
        ]
        left = [p for p in places if p not in inner and p not in outer]
        batches = [
            p for p in left if any(s.rows[p] in shape.batch for s, shape in products.items())
        ]
        rest = [*batches, *(p for p in left if p not in batches)]
        first, behind = next(iter(products)), 0
        at = next((n for n, p in enumerate(rest) if first.rows[p] == tiled), None)
        if at is not None:
            behind = len(rest) - 1 - at
            rest.append(rest.pop(at))
        for stage in stages:
            stage.inner = tuple(stage.rows[p] for p in inner) + stage.inner
            stage.rows = tuple(stage.rows[p] for p in (*outer, *rest))
        self.columns, self.batches, self.behind = len(outer), len(batches), behind

    def _computes_at_panels(self) -> bool:
        """Whether the epilogue is computed for each panel: so it is where it can, unless told."""
        can, said = self._can_go_by_panels(), self.tasks.compute_at
        if said == "panel" and not can:
            reason = "what follows the product needs more than its panel"
            raise illegal(self.stages[0].op, f"compute_at = panel: {reason}")
        return can and said != "block"

    def _can_go_by_panels(self) -> bool:
        """Whether the kernel can go panel by panel."""
        if len(self.products) != 1:
            return False
        (product, shape), (first, *others) = self.first, self.stages
        if not others:
            return True
        if first is not product or not all(s.is_pointwise for s in others):
            return False
        kept = [d for d in product.inner if d not in product.reduced]
        if any(product.extents[d] != 1 for d in kept if d != shape.inner_column):
            return False
        if any(s.inner_extents != (product.extents[shape.inner_column],) for s in others):
            return False
        return columns_stay_apart(self.stages, {product: (shape.inner_column,)})


def products_of(stages: list[Stage]) -> Products:
    """The packed products among the stages."""
    return {s: c for s in stages if (c := Contraction.of(s.op)) and c.panel is not None}


def jammed_row(products: Products) -> int | None:
    """The row of the first product that its schedule has tiles go along, if it says."""
    stage, shape = next(iter(products.items()))
    jam = stage.schedule.jam
    return None if jam is None or jam.dim not in shape.rows else jam.dim
