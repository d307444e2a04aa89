"""Where the panels, and the sums, of products in tasks of panels end in a call.

Columns behind those that count (`live` of `#loop.nest`) need not be made, a panel at a time. Terms
from a number on at which both operands are 0 (`lamina.zeros`) need not be added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.zero_axes import sum_end
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import ends_of, live_digits
from lamina.passes.schedule.packed_product import PartOfSum
from lamina.passes.schedule.stages import Stage


@dataclass(frozen=True)
class ProductEnds:
    """Digits that end at numbers of the call; None where all is computed."""

    panels: Digit | None = None
    """The panels of columns."""
    terms: Digit | None = None
    """Positions of the dimension that is summed over."""
    dim: int = -1
    """That dimension."""

    @staticmethod
    def of(stage: Stage, shape: Contraction, *, panel_mode: bool) -> ProductEnds:
        """Of the product of a kernel whose tasks take ranges of panels; others run whole."""
        if not panel_mode or shape.panel is None or shape.pairs is not None:
            return ProductEnds()
        column, panels = shape.inner_column, None
        digits = live_digits(stage.op).get(column, ())
        if len(digits) == 1 and digits[0].is_count:
            count = -(-stage.extents[column] // shape.panel)
            panels = Digit(count, digits[0].count, shape.panel) if count > 1 else None
        in_blocks = stage.schedule.terms is not None or shape.task_packed
        end = None if in_blocks or stage.schedule.cache_read else sum_end(shape)
        terms = None if end is None else Digit(stage.extents[end[0]], end[1])
        return ProductEnds(panels, terms, -1 if end is None else end[0])

    def read(self, emit: Emitter, flat: Mapping[int, SSAValue]) -> ReadEnds:
        """The same, once the numbers of the call are read; `flat` are the arguments in memory."""
        found = [
            None if digit is None else ends_of(emit, [digit], flat)[0].end
            for digit in (self.panels, self.terms)
        ]
        return ReadEnds(*found)


@dataclass(frozen=True)
class ReadEnds:
    """Where panels and terms end in a call; None where all are taken."""

    panels: Index | None = None
    terms: Index | None = None

    def last(self, emit: Emitter, panel: Index) -> Index:
        """Where a range of panels ends that would end at `panel`."""
        return panel if self.panels is None else emit.least(panel, self.panels)

    def parts(self, emit: Emitter, splits: int, each: int) -> Index:
        """How many of so many ranges of panels have any."""
        if self.panels is None:
            return splits
        return emit.quotient(emit.plus(self.panels, each - 1), each)

    @property
    def part(self) -> PartOfSum | None:
        """The terms that are added up; all behind them is 0."""
        return None if self.terms is None else PartOfSum((0, self.terms))
