"""Where the panels, and the sums, of products in tasks of panels end in a call.

Columns behind those that count (`live` of `#loop.nest`) need not be made, a panel at a time. Terms
from a number on at which both operands are 0 (`lamina.zeros`) need not be added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from xdsl.ir import SSAValue

from lamina.dialects.loop.bounds import FIRST_COUNT, cut_of
from lamina.dialects.loop.bounds import ends_of as ends_noted
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.zero_axes import sum_end
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import ends_of, live_digits
from lamina.passes.schedule.packed_product import PartOfSum
from lamina.passes.schedule.stages import Stage, is_temporary


@record
class ProductEnds:
    """Digits that end at numbers of the call; None where all is computed."""

    panels: Digit | None = None
    """The panels of columns, or groups of so many `together`."""
    together: int = 1
    columns: Digit | None = None
    """The columns, of a last panel that is stored in part."""
    terms: Digit | None = None
    """Positions of the dimension that is summed over."""
    dim: int = -1
    """That dimension."""
    around: Mapping[int, Digit] = field(default_factory=dict[int, Digit])
    """Columns that a task walks around its panels."""

    @staticmethod
    def of(stage: Stage, shape: Contraction, *, panel_mode: bool) -> ProductEnds:
        """Of a product. Terms end in kernels whose tasks take ranges of panels."""
        around = {
            dim: own[0]
            for dim, own in live_digits(stage.op).items()
            if dim in stage.inner
            and dim != shape.inner_column
            and len(own) == 1
            and own[0].is_count
        }
        if shape.panel is None or shape.pairs is not None:
            return ProductEnds(around=around)
        panels, count = None, _count(stage, shape.inner_column)
        extent, together = -(-stage.extents[shape.inner_column] // shape.panel), 1
        if count is not None and extent > 1 and shape.panel > 1:
            panels = Digit(extent, count, shape.panel)
        elif (lines := _lines(stage, shape.inner_column, shape.panel)) is not None:
            panels, together = lines
        columns = None
        if count is not None and shape.panel > 1 and _leaves(stage, panel_mode=panel_mode):
            columns = Digit(stage.extents[shape.inner_column], count)
        end = noted_sum(stage.op, shape)
        if end is None and panel_mode and not shape.task_packed:
            end = sum_end(shape)
        terms = None if end is None else Digit(stage.extents[end[0]], end[1])
        dim = -1 if end is None else end[0]
        return ProductEnds(panels, together, columns, terms, dim, around)

    def read(self, emit: Emitter, flat: Mapping[int, SSAValue]) -> ReadEnds:
        """The same, once the numbers of the call are read; `flat` are the arguments in memory."""
        panels, columns = (
            None if digit is None else ends_of(emit, [digit], flat)[0].end
            for digit in (self.panels, self.columns)
        )
        panels = None if panels is None else emit.times(panels, self.together)
        terms = None  # there may be none, as in what is packed in front of the sum
        if self.terms is not None:
            terms = ends_of(emit, [self.terms], flat, least=0)[0].end
        around = {dim: ends_of(emit, [d], flat)[0].end for dim, d in self.around.items()}
        return ReadEnds(panels, columns, terms, around)


def noted_sum(op: GenericOp, shape: Contraction) -> tuple[int, int] | None:
    """The dimension of a sum that ends at a number, and the argument that has it: what is behind
    was left out by nests in front, or is no term."""
    if (cut := cut_of(op)) is not None:
        return cut
    noted = ends_noted(op, op.extents)
    for dim in shape.summed:
        forms = [bound.form for bound in noted.get(dim, ())]
        numbers = [f.terms[0][0] - FIRST_COUNT for f in forms if f == _number(f)]
        if numbers:
            return dim, min(numbers)
    return None


def _leaves(stage: Stage, *, panel_mode: bool) -> bool:
    """Whether what is made of the last panel leaves the kernel: of others scratch has room."""
    return panel_mode or not is_temporary(stage.writes[0].memory)


def _count(stage: Stage, column: int) -> int | None:
    """The argument with the number behind which nobody reads the columns of a product."""
    digits = live_digits(stage.op).get(column, ())
    if len(digits) == 1 and digits[0].is_count:
        return digits[0].count
    forms = [bound.form for bound in ends_noted(stage.op, stage.op.extents).get(column, ())]
    numbers = [form.terms[0][0] - FIRST_COUNT for form in forms if form == _number(form)]
    return min(numbers, default=None)


def _lines(stage: Stage, column: int, panel: int) -> tuple[Digit, int] | None:
    """The lines that joined columns are made of, of which some count, and the panels of each; None
    where panels have parts of several."""
    digits = live_digits(stage.op).get(column, ())
    if len(digits) < 2 or not digits[0].is_count:
        return None
    each, rest = divmod(stage.extents[column] // digits[0].extent, panel)
    return None if rest or not each else (digits[0], each)


def _number(form: Linear) -> Linear | None:
    """A form that is a number of the call alone."""
    dims = [dim for dim, _ in form.terms]
    return Linear.dim(dims[0]) if len(dims) == 1 and dims[0] >= FIRST_COUNT else None


@record
class ReadEnds:
    """Where panels, columns and terms, and what is around them, end in a call; None where all are
    taken."""

    panels: Index | None = None
    columns: Index | None = None
    terms: Index | None = None
    around: Mapping[int, Index] = field(default_factory=dict[int, Index])

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
