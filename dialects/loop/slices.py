"""Slices: the part of its domain that a nest in loops runs at each step of them.

    slice(d0 = %i)                      one position of d0
    slice(d1 = %j x 16)                 16 positions from %j on, less where the dimension ends
    slice([d0, d1] = %n)                one position of d0 and d1, walked as one in row-major order
    slice(d0 = %n x 4 step 64)          %n, %n + 64, %n + 128 and %n + 192
    slice(d0 = %n x 4 step %s)          %n, %n + %s, %n + 2 %s and %n + 3 %s

The values in front are the nest's symbols, those behind `step` its steps. Its maps, bodies and
notes stay those of the whole domain. A reduction over a sliced dimension begins anew at a slice
that begins at 0 and adds to what is there at all others, so that slices in order give what the
whole nest does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.records import record

MOST_ELEMENTS = 1 << 59
"""In one tensor, and so positions that a slice reaches: sixteen bytes each are as many bytes as an
i64 counts. Extents of 0 count as 1, since the others make strides."""


@record
class Slice:
    """Positions, `step` apart, of dimensions that are walked as one, outermost first.

    A `step` of None is a value of the program, one of the nest's steps. Without `x`, `extended` is
    false: one position, at which the nest has no loop over them.
    """

    dims: tuple[int, ...]
    size: int = 1
    step: int | None = 1
    extended: bool = True

    @staticmethod
    def at(*dims: int) -> Slice:
        """One position of these dimensions."""
        return Slice(dims, extended=False)

    def extent(self, extents: Sequence[int]) -> int:
        """Positions of the dimensions in the whole domain."""
        return prod(extents[d] for d in self.dims)

    def is_whole(self, extents: Sequence[int]) -> bool:
        """Whether nothing of these dimensions is left to others."""
        return self.size >= self.extent(extents) and self.step == 1

    @property
    def name(self) -> str:
        """The dimensions as they are printed: `d0` or `[d0, d1]`."""
        names = ", ".join(f"d{d}" for d in self.dims)
        return names if len(self.dims) == 1 else f"[{names}]"

    @property
    def count_text(self) -> str:
        """The size and step as they are printed; nothing for one position."""
        return self.text(None if self.step is None else str(self.step))

    def text(self, step: str | None) -> str:
        """The size as it is printed, and a step by its text; `?` where that is None."""
        apart = "" if self.step == 1 else f" step {'?' if step is None else step}"
        return f" x {self.size}{apart}" if self.extended else ""


@irdl_attr_definition
class SliceAttr(Data[Slice]):
    """`#loop.slice<[0, 1] x 16 step 4>`: dimensions, positions and the distance of these."""

    name = "loop.slice"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Slice:
        with parser.in_angle_brackets():
            square = parser.Delimiter.SQUARE
            dims = parser.parse_comma_separated_list(square, lambda: parser.parse_integer(False))
            return _parse_count(parser, tuple(dims))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{list(self.data.dims)}{self.data.count_text}")


def _parse_count(parser: AttrParser, dims: tuple[int, ...]) -> Slice:
    """Parse ` x 16 step 4`, behind dimensions; all of it or the step may be left out."""
    if not parser.parse_optional_keyword("x"):
        return Slice.at(*dims)
    size = _parse_positive(parser)
    step: int | None = 1
    if parser.parse_optional_keyword("step"):
        is_value = parser.parse_optional_punctuation("?") is not None
        step = None if is_value else _parse_positive(parser)
    return Slice(dims, size, step)


def _parse_positive(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def verify_slices(
    slices: Sequence[Slice],
    indices: Sequence[SSAValue],
    extents: Sequence[int],
    kept: Sequence[set[int]] | None,
) -> None:
    """Check the slices of a nest, which begin at the first of `indices`; the others are steps.

    `kept` are the dimensions that each result keeps.

    None stands for a nest on tensors. Raises VerifyException.
    """
    if kept is None:
        raise VerifyException("loop.generic: only nests that write into memrefs run slices")
    steps = sum(entry.step is None for entry in slices)
    if len(slices) + steps != len(indices):
        found = f"{len(slices)} slices with {steps} computed steps and {len(indices)} symbols"
        raise VerifyException(f"loop.generic: {found}")
    seen: set[int] = set()
    for entry in slices:
        _verify_slice(entry, extents)
        for dim in entry.dims:
            if dim in seen:
                raise VerifyException(f"loop.generic: d{dim} is sliced twice")
            seen.add(dim)
        wide = {d for d in entry.dims if extents[d] != 1}
        if any(0 < len(wide & dims) < len(wide) for dims in kept):
            raise VerifyException(
                f"loop.generic: slice of {entry.name}: a result keeps some of these dimensions and "
                "reduces others"
            )


def _verify_slice(entry: Slice, extents: Sequence[int]) -> None:
    where = f"loop.generic: slice of {entry.name}"
    if not entry.dims or any(not 0 <= d < len(extents) for d in entry.dims):
        raise VerifyException(f"{where}: the domain has {len(extents)} dimensions")
    step = 1 if entry.step is None else entry.step
    if entry.size < 1 or step < 1:
        raise VerifyException(f"{where}: its size and step are at least 1")
    extent = entry.extent(extents)
    if entry.size > max(extent, 1) or (entry.size - 1) * step > MOST_ELEMENTS:
        raise VerifyException(f"{where}: {entry.size} of {extent} positions")


def print_slices(printer: Printer, slices: Sequence[Slice], indices: Sequence[SSAValue]) -> None:
    """Print ` slice(d0 = %i, d1 = %j x 16)`; nothing if there are none."""
    if not slices:
        return

    steps = iter(indices[len(slices) :])

    def print_one(entry: tuple[Slice, SSAValue]) -> None:
        printer.print_string(f"{entry[0].name} = ")
        printer.print_ssa_value(entry[1])
        if entry[0].step is None and (step := next(steps, None)) is not None:
            printer.print_string(entry[0].text(""))
            printer.print_ssa_value(step)
        else:
            printer.print_string(entry[0].count_text)

    printer.print_string(" slice(")
    printer.print_list(list(zip(slices, indices[: len(slices)], strict=True)), print_one)
    printer.print_string(")")


def parse_slices(parser: Parser, names: Sequence[str]) -> tuple[list[Slice], list[SSAValue]]:
    """Parse `slice(...)` over the named dimensions, if it is there: symbols, then steps."""
    slices: list[Slice] = []
    symbols: list[SSAValue] = []
    steps: list[SSAValue] = []

    def parse_dim() -> int:
        at = parser.pos
        name = parser.parse_identifier()
        if name not in names:
            parser.raise_error(
                f"'{name}' is not a dimension of this domain ({', '.join(names)})", at
            )
        return list(names).index(name)

    def parse_one() -> None:
        square = parser.Delimiter.SQUARE
        dims = parser.parse_optional_comma_separated_list(square, parse_dim)
        dims = [parse_dim()] if dims is None else dims
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        symbols.append(parser.resolve_operand(operand, IndexType()))
        slices.append(_parse_extent(parser, tuple(dims), steps))

    if parser.parse_optional_keyword("slice"):
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
    return slices, [*symbols, *steps]


def _parse_extent(parser: Parser, dims: tuple[int, ...], steps: list[SSAValue]) -> Slice:
    """As `_parse_count`, where a step may be a value, which is added to `steps`."""
    if not parser.parse_optional_keyword("x"):
        return Slice.at(*dims)
    size = _parse_positive(parser)
    if not parser.parse_optional_keyword("step"):
        return Slice(dims, size)
    operand = parser.parse_optional_unresolved_operand()
    if operand is None:
        return Slice(dims, size, _parse_positive(parser))
    steps.append(parser.resolve_operand(operand, IndexType()))
    return Slice(dims, size, None)
