"""Lines of packed panels that a product fetches ahead of its multiply-adds.

A register tile walks a panel once, line by line, faster than the hardware asks for lines that it
guesses: of one that is not in the nearest cache each is asked for some terms ahead. The next panel
comes from further out, and its first register tile would wait for all of it; it is fetched into the
second-level cache while this one is multiplied, by each tile an equal share.
"""

from __future__ import annotations

from collections.abc import Mapping

from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.packed_operand import PackedOperand
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.prefetch import INTO_L1, INTO_L2, LINE_BYTES
from lamina.passes.schedule.stages import LOCAL_ROW, ROW_START, TERM_START
from lamina.passes.schedule.sum_blocks import SumCut
from lamina.passes.schedule.sweep_legality import verify_prefetch


@record
class Walk:
    """How a task walks a product: tiles of `tile_rows` of all its `rows`, by so many `panels`,
    whose sums may be `cut`."""

    tile_rows: int
    rows: int
    panels: int
    cut: SumCut | None = None


@record
class PanelPrefetch:
    """What the tiles of a product fetch, in elements of its packed operand.

    Lines of a term are `ahead` elements further on than it, if they are fetched at all. Of the next
    panel, which is `next_panel` elements behind this one, or of the next block of the sum, where a
    task has one panel, each row of a tile has `row_share` elements fetched, if any: those of one
    step of the sum `term_share` at a time.
    """

    packed: PackedOperand
    line: int
    ahead: int
    next_panel: int
    row_share: int
    term_share: int
    terms: Mapping[int, int]
    """How many terms are between positions of each summed dimension that a block goes along."""
    start_share: int
    """Elements for each position of the block's start."""

    @staticmethod
    def of(product: PackedProduct, packed: PackedOperand, walk: Walk) -> PanelPrefetch | None:
        """As the schedule of a product in register tiles says."""
        stage, shape, schedule = product.stage, product.shape, product.stage.schedule
        verify_prefetch(stage)
        if schedule.prefetch is None and schedule.prefetch_panels is None:
            return None
        if schedule.prefetch not in (None, (shape.b,)):
            said = f"prefetch = {list(schedule.prefetch)}"
            raise illegal(stage.op, f"{said}: of a packed product, [{shape.b}] may be")
        bits = packed.memory.type.element_type.bitwidth  # pyright: ignore
        size, panel = bits // 8, product.panel
        between = {d: packed.strides[d] for d in shape.summed if d in packed.strides}
        count = schedule.prefetch_panels or 0
        if count and (product.shape.task_packed or min(between.values()) != panel):
            reason = "the terms of a panel follow one another, and tasks do not pack it"
            raise illegal(stage.op, f"prefetch_panels: of a product where {reason}")
        ahead = 0 if schedule.prefetch is None else (schedule.prefetch_bytes or LINE_BYTES) // size
        cut, length, further = walk.cut, packed.panel_stride, packed.panel_stride
        if schedule.terms is not None:
            length = min(length, schedule.terms * panel)
            further = length if walk.panels == 1 else further
        along = product.summed[0 if cut is None else cut.place :]
        terms = {d: between[d] // panel for d in along if d in between}
        share = -(-panel * walk.tile_rows // walk.rows) if count else 0
        return PanelPrefetch(
            packed,
            LINE_BYTES // size,
            ahead,
            count * further,
            -(-length // walk.rows) if count else 0,
            share,
            terms,
            terms.get(along[0], 1) * (panel - share),
        )

    def emit(self, emit: Emitter, env: Env, dim: int, copy: int, panel: Index) -> None:
        """Ask for what follows from a position, and `copy` steps of `dim` further in its loop."""
        if self.ahead:
            row = emit.plus(self.packed.row(emit, env, panel), copy * self.packed.strides[dim])
            for at in range(0, self.packed.panel, self.line):
                self._ask(emit, emit.plus(row, self.ahead + at), INTO_L1)
        if not self.next_panel:
            return
        # Lines that the steps in front of this one have asked for are not asked for again.
        first, last = copy * self.term_share, (copy + 1) * self.term_share
        outside = {d: at for d, at in env.items() if d not in self.terms}
        begin = emit.plus(self.packed.row(emit, outside, panel), self.next_panel)
        row = emit.plus(env.get(ROW_START, 0), env.get(LOCAL_ROW, 0))
        begin = emit.plus(begin, emit.times(row, self.row_share))
        steps = {d: n * self.term_share for d, n in self.terms.items() if d in env}
        begin = emit.plus(begin, emit.linear(Linear.of(steps, 0), env))
        begin = emit.plus(begin, emit.times(env.get(TERM_START, 0), self.start_share))
        for at in range(-(-first // self.line) * self.line, last, self.line):
            self._ask(emit, emit.plus(begin, at), INTO_L2)

    def _ask(self, emit: Emitter, at: Index, level: int) -> None:
        emit.run(PrefetchOp(self.packed.memory, [emit.value(at)], level))
