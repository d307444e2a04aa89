"""Live rows: which rows of a kernel the program's results depend on.

    loop.generic ... attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg2 of 128]>}

Rows count in row-major order, and their number has a digit for each entry, outermost first. A digit
that ends at a count (`arg2 of 128`: the number that argument 2 of the kernel holds, 1 to 128) says
that nothing reads the rows behind it. They may be run or not: interpreters run all.

Where what is read is whole panels, as of packed operands, a digit ends with the panel in which the
count does: `arg2 ceildiv 32 of 4` are the panels themselves, `arg2 ceildiv 32 * 32 of 128` the
positions in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import Data, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.clauses import ClauseKind
from lamina.dialects.loop.slices import MOST_ELEMENTS
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.records import record

MOST_PANEL = 1 << 12
"""Positions of a panel in which a digit ends, at most: what is rounded up to one stays a number.
A bound of what may be said, not measured."""


@record
class Digit:
    """Positions 0 to `extent`, the live ones of which end at the number in argument `count`.

    They end with the panel of `panel` positions in which the number does, of each of which they are
    `factor`.
    """

    extent: int
    count: int | None = None
    panel: int = 1
    factor: int = 1

    def __str__(self) -> str:
        if self.count is None:
            return str(self.extent)
        panels = "" if self.panel == 1 else f" ceildiv {self.panel}"
        factor = "" if self.factor == 1 else f" * {self.factor}"
        return f"arg{self.count}{panels}{factor} of {self.extent}"

    @property
    def is_count(self) -> bool:
        """Whether it ends at the number itself."""
        return self.count is not None and self.panel == self.factor == 1

    def end(self, count: int) -> int:
        """Where it ends, by the number in the argument, which is taken as 1 at least."""
        return min(-(-max(count, 1) // self.panel) * self.factor, self.extent)


@record
class LiveRows:
    """Digits of the numbers of rows, outermost first."""

    digits: tuple[Digit, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.digits))}]"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(digit.extent for digit in self.digits)

    @property
    def counts(self) -> tuple[int, ...]:
        """The arguments at whose numbers digits end."""
        return tuple(digit.count for digit in self.digits if digit.count is not None)

    def over_operands(self) -> tuple[LiveRows, list[int]]:
        """Digits that end at operands of an op, and the arguments that these are."""
        numbers = sorted(set(self.counts))
        digits = (
            digit if digit.count is None else replace(digit, count=numbers.index(digit.count))
            for digit in self.digits
        )
        return LiveRows(tuple(digits)), numbers

    def ends(self, counts: Sequence[int]) -> list[int]:
        """Where digits end, by the numbers in the arguments; counts are 1 to the extent."""
        return [
            digit.extent if digit.count is None else digit.end(counts[digit.count])
            for digit in self.digits
        ]

    def row(self, number: int, counts: Sequence[int]) -> int:
        """The row that is a given number among the live ones; the last for larger numbers."""
        row, scale = 0, 1
        ends = self.ends(counts)
        for place in reversed(range(len(ends))):
            digit = number if place == 0 else number % ends[place]
            row += digit * scale
            number //= ends[place]
            scale *= self.digits[place].extent
        return min(row, self.rows - 1)

    def by_row(self, extents: Sequence[int]) -> list[tuple[Digit, ...]] | None:
        """The digits of each of these row dimensions; None where one lies across two of them."""
        left = list(self.digits)
        found: list[tuple[Digit, ...]] = []
        for extent in extents:
            own: list[Digit] = []
            while prod(digit.extent for digit in own) < extent and left:
                own.append(left.pop(0))
            if prod(digit.extent for digit in own) != extent:
                return None
            found.append(tuple(own))
        return None if left else found

    def turns(self, size: int) -> int | None:
        """The argument at whose number rows end, if tasks of `size` rows each, one behind the
        other, have those that are live in front: one digit for all of the rows, or one for those
        of each task. None for others."""
        last = self.digits[-1]
        if last.count is None or any(digit.count is not None for digit in self.digits[:-1]):
            return None
        return last.count if last.extent == size or len(self.digits) == 1 else None

    def turns_from(self, number: int, size: int, counts: Sequence[int]) -> int:
        """How many of the rows of a task are live, where there are `turns`; may be none."""
        end = self.ends(counts)[-1]
        return end if self.digits[-1].extent == size else min(max(end - number * size, 0), size)

    def cut(self, extents: Sequence[int], to: Sequence[int]) -> LiveRows | None:
        """That of a part of these rows, which begins anywhere: what is live in it ends at the same
        counts, or before. None where all of it may be."""
        rows = self.by_row(extents)
        if rows is None:
            return None
        digits: list[Digit] = []
        for own, whole, extent in zip(rows, extents, to, strict=True):
            if extent == whole:
                digits += own
            elif extent > 1:
                digits.append(replace(own[0], extent=extent) if len(own) == 1 else Digit(extent))
        found = LiveRows(tuple(digits))
        return found if found.counts else None


def _digit(parser: AttrParser) -> Digit:
    name = parser.parse_optional_identifier()
    if name is None:
        return Digit(_positive(parser))
    if not (name[:3] == "arg" and name[3:].isdecimal()):
        parser.raise_error(f"'{name}' is no argument, such as arg0")
    panel = factor = 1
    if parser.parse_optional_keyword("ceildiv") is not None:
        panel = _positive(parser)
        if parser.parse_optional_punctuation("*") is not None:
            factor = _positive(parser)
    parser.parse_keyword("of")
    return Digit(_positive(parser), int(name[3:]), panel, factor)


def _positive(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def _digits(parser: AttrParser) -> LiveRows:
    square = AttrParser.Delimiter.SQUARE
    return LiveRows(tuple(parser.parse_comma_separated_list(square, lambda: _digit(parser))))


def _clause(parser: AttrParser) -> LiveRows:
    parser.parse_punctuation("=")
    return _digits(parser)


LIVE = ClauseKind(" = [8, arg2 of 128]", _clause, lambda value: f" = {value}")


def verify_live(live: LiveRows, where: str, name: str = "live") -> None:
    """Raises VerifyException for digits that no rows have."""
    if any(digit.extent < 2 for digit in live.digits) or live.rows > MOST_ELEMENTS:
        raise VerifyException(f"{where}: {name} = {live}: digits have two positions and more")
    if not live.counts:
        raise VerifyException(f"{where}: {name} = {live}: no digit ends at an argument")
    if any(not 1 <= digit.factor <= digit.panel <= MOST_PANEL for digit in live.digits):
        raise VerifyException(
            f"{where}: {name} = {live}: panels of 1 to {MOST_PANEL} positions, of which 1 to all "
            "are counted"
        )


@irdl_attr_definition
class LiveRowsAttr(Data[LiveRows]):
    """`#loop.live<[8, arg0 of 128]>`: digits, which end at the numbers in operands of an op."""

    name = "loop.live"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LiveRows:
        with parser.in_angle_brackets():
            return _digits(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

    def verify(self) -> None:
        verify_live(self.data, f"#{self.name}")


def _verify_counts(op: LiveCountOp | LiveRowOp | LiveTurnsOp) -> None:
    for value in op.counts:
        if value.type != MemRefType(i64, []):
            raise VerifyException(f"{op.name}: a count is a memref<i64>, not {value.type}")
    if any(number >= len(op.counts) for number in op.live.data.counts):
        raise VerifyException(f"{op.name}: {op.live.data} of {len(op.counts)} counts")


@op_definition
class LiveCountOp(IRDLOperation):
    """How many rows are live: the product of what the digits end at, each at least 1.

    `%c = loop.live_count(%n) in <[8, arg0 of 128]> : memref<i64>`
    """

    name = "loop.live_count"
    counts = var_operand_def(MemRefType)
    live = prop_def(LiveRowsAttr)
    result = result_def(IndexType())
    traits = traits_def(MemoryReadEffect())
    assembly_format = "`(` $counts `)` `in` $live attr-dict `:` type($counts)"

    def __init__(self, counts: Sequence[SSAValue], live: LiveRows) -> None:
        properties: dict[str, Any] = {"live": LiveRowsAttr(live)}
        super().__init__(operands=[counts], result_types=[IndexType()], properties=properties)

    def verify_(self) -> None:
        _verify_counts(self)


@op_definition
class LiveRowOp(IRDLOperation):
    """The row that is a given number among the live ones; the last of all for larger numbers.

    `%r = loop.live_row %t(%n) in <[8, arg0 of 128]> : memref<i64>`
    """

    name = "loop.live_row"
    number = operand_def(IndexType())
    counts = var_operand_def(MemRefType)
    live = prop_def(LiveRowsAttr)
    result = result_def(IndexType())
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$number `(` $counts `)` `in` $live attr-dict `:` type($counts)"

    def __init__(self, number: SSAValue, counts: Sequence[SSAValue], live: LiveRows) -> None:
        properties: dict[str, Any] = {"live": LiveRowsAttr(live)}
        super().__init__(
            operands=[number, counts], result_types=[IndexType()], properties=properties
        )

    def verify_(self) -> None:
        _verify_counts(self)


@op_definition
class LiveTurnsOp(IRDLOperation):
    """How many of the `size` rows that a task takes in turn are live; it may be none.

    Tasks lie one behind the other, and this is one by its number.

    `%t = loop.live_turns %task of 256(%n) in <[arg0 of 4096]> : memref<i64>`
    """

    name = "loop.live_turns"
    number = operand_def(IndexType())
    counts = var_operand_def(MemRefType)
    live = prop_def(LiveRowsAttr)
    size = prop_def(IntegerAttr)
    result = result_def(IndexType())
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$number `of` $size `(` $counts `)` `in` $live attr-dict `:` type($counts)"

    def __init__(
        self, number: SSAValue, size: int, counts: Sequence[SSAValue], live: LiveRows
    ) -> None:
        properties: dict[str, Any] = {
            "live": LiveRowsAttr(live),
            "size": IntegerAttr(size, IndexType()),
        }
        super().__init__(
            operands=[number, counts], result_types=[IndexType()], properties=properties
        )

    @property
    def rows(self) -> int:
        """The rows of a task."""
        return self.size.value.data

    def verify_(self) -> None:
        _verify_counts(self)
        if self.live.data.turns(self.rows) is None:
            raise VerifyException(
                f"{self.name}: {self.live.data}: no digit ends the {self.rows} rows of a task"
            )
