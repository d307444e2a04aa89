"""Bounds of a dimension: between which positions, row by row, a nest has anything to do.

A causal mask makes most of a row of scores -inf, of weights 0: what stands outside the bounds
changes no result, so that a schedule may leave it out. The bounds are those of MLIR's `affine.for`:
the largest of the lower ones, the smallest of the upper ones. Their symbols are numbers of a call,
such as how many keys count of those that there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Operation, ParametrizedAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import forms_of, map_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.dialects.sizes import MOST_SIZE

BOUNDS = "lamina.bounds"
"""Attribute of a nest: the `#loop.bounds` of one of its dimensions."""


ENDS = "lamina.ends"
"""Attribute of a nest: an array of upper `#loop.bounds`, of several dimensions, at numbers of a
call. Where a bound of `lamina.bounds` leaves one position at least, these may leave none."""

MASKS = "lamina.masks"
"""Attribute of a kernel: pairs of numbers of its arguments, of which the first is one row of truth
values, that are true below the number in the second and false from there on."""

ZEROS = "lamina.zeros"
"""Attribute of a kernel: triples of an argument, a dimension of it, and an argument with a number,
from which on all elements along the dimension are 0."""

FIRST_COUNT = 1 << 16
"""Pseudo-dimension of forms that is the number in argument 0 of a kernel; others follow."""


CUT = "lamina.cut"
"""Attribute of a product: the `#loop.bounds` of the dimension that it sums over, one number
of the call. Unlike ends it is part of what the nest means: terms behind are not added up, whatever
stands there."""


def masks_of(function: Operation) -> dict[int, int]:
    """For each argument of a kernel that is such a mask the argument with its number."""
    pairs = function.attributes.get(MASKS)
    if not isinstance(pairs, DenseArrayBase):
        return {}
    numbers = [int(number) for number in pairs.get_values()]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def zeros_of(function: Operation) -> frozenset[tuple[int, int, int]]:
    """The arguments of a kernel that end in zeros: dimension, and argument with the number."""
    found = function.attributes.get(ZEROS)
    if not isinstance(found, DenseArrayBase):
        return frozenset()
    numbers = [int(number) for number in found.get_values()]
    return frozenset(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def cut_of(nest: Operation) -> tuple[int, int] | None:
    """The dimension of a product whose sum is cut, and the argument with the number of terms."""
    noted = nest.attributes.get(CUT)
    if not isinstance(noted, BoundsAttr):
        return None
    (number,) = noted.arguments
    return noted.dim.value.data, number


@record
class Bound:
    """One bound of a position, `form` over the dimensions of a nest or the rows of a kernel.

    An upper one, `is_upper`, is the first position that is outside; a lower one the first inside.
    """

    is_upper: bool
    form: Linear

    def outside_is_outside(self, other: Bound) -> bool:
        """Whether each position outside this bound is known to be outside the other."""
        return self.is_upper == other.is_upper and self._is_beyond(other)

    def outside_is_inside(self, other: Bound) -> bool:
        """Whether each position outside this bound is known to be inside the other."""
        return self.is_upper != other.is_upper and self._is_beyond(other)

    def _is_beyond(self, other: Bound) -> bool:
        """Whether this bound is the larger one, or the smaller lower one, in each row."""
        sign = 1 if self.is_upper else -1
        apart = self.form.add(other.form.scale(-1))
        return all(sign * number >= 0 for number in (apart.constant, *apart.coefficients.values()))

    def around(self, other: Bound) -> Bound:
        """A bound, linear as well, outside of which everything is outside of both.

        Positions of rows are no less than 0: so each coefficient may be the larger of two.
        """
        choose = max if self.is_upper else min
        own, its = self.form.coefficients, other.form.coefficients
        terms = {d: choose(own.get(d, 0), its.get(d, 0)) for d in own.keys() | its.keys()}
        constant = choose(self.form.constant, other.form.constant)
        return Bound(self.is_upper, Linear.of(terms, constant))


@irdl_attr_definition
class BoundsAttr(ParametrizedAttribute):
    """`#loop.bounds<2, lower affine_map<...>, upper affine_map<...>>`: bounds of dimension 2.

    The maps go from the domain of the nest, and use its rows only; either may have no results. With
    symbols, the arguments of the kernel that these are follow: `..., counts [4]`.
    """

    name = "loop.bounds"

    dim: IntegerAttr
    lower: AffineMapAttr
    upper: AffineMapAttr
    counts: ArrayAttr[IntegerAttr]

    @staticmethod
    def of(dim: int, bounds: Sequence[Bound], rank: int) -> BoundsAttr:
        """The bounds of a dimension in a domain of `rank` dimensions."""
        found = {d for bound in bounds for d, _ in bound.form.terms if d >= FIRST_COUNT}
        counts = sorted(found)
        lower, upper = (
            AffineMapAttr(_with_symbols(forms, rank, counts))
            for forms in (
                [b.form for b in bounds if not b.is_upper],
                [b.form for b in bounds if b.is_upper],
            )
        )
        numbers = ArrayAttr([IntegerAttr(d - FIRST_COUNT, i64) for d in counts])
        return BoundsAttr(IntegerAttr(dim, i64), lower, upper, numbers)

    @property
    def arguments(self) -> tuple[int, ...]:
        """The arguments of the kernel that symbols are."""
        return tuple(number.value.data for number in self.counts)

    def bounds(self, extents: Sequence[int]) -> tuple[Bound, ...]:
        """The bounds as forms over the nest's dimensions, and those from `FIRST_COUNT` on.

        Raises VerifyException for others.
        """
        found: list[Bound] = []
        for is_upper, attribute in ((False, self.lower), (True, self.upper)):
            forms = None
            given = attribute.data
            if given.num_dims == len(extents) and given.num_symbols == len(self.counts):
                forms = self._forms(given, extents)
            if forms is None:
                raise VerifyException(
                    f"{BOUNDS} are linear in the {len(extents)} dimensions: not {attribute}"
                )
            found += [Bound(is_upper, form) for form in forms]
        return tuple(found)

    def _forms(self, given: AffineMap, extents: Sequence[int]) -> list[Linear] | None:
        """The forms of a map, whose symbols are made dimensions behind the others for it."""
        rank, symbols = len(extents), len(self.counts)
        dims = [AffineExpr.dimension(d) for d in range(rank + symbols)]
        wide = given.replace_dims_and_symbols(dims[:rank], dims[rank:], rank + symbols, 0)
        found = forms_of(wide, [*extents, *[MOST_SIZE] * symbols])
        if found is None:
            return None
        places = {rank + n: FIRST_COUNT + number for n, number in enumerate(self.arguments)}
        return [
            Linear.of({places.get(d, d): c for d, c in form.terms}, form.constant) for form in found
        ]

    @classmethod
    def parse_parameters(
        cls, parser: AttrParser
    ) -> Sequence[IntegerAttr | AffineMapAttr | ArrayAttr[IntegerAttr]]:
        with parser.in_angle_brackets():
            dim = IntegerAttr(parser.parse_integer(allow_negative=False), i64)
            maps: list[AffineMapAttr] = []
            for side in ("lower", "upper"):
                parser.parse_punctuation(",")
                parser.parse_keyword(side)
                found = parser.parse_attribute()
                if not isinstance(found, AffineMapAttr):
                    parser.raise_error(f"{side} bounds are an affine_map")
                maps.append(found)
            numbers: list[int] = []
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("counts")
                square = parser.Delimiter.SQUARE
                numbers = parser.parse_comma_separated_list(
                    square, lambda: parser.parse_integer(allow_negative=False)
                )
        return [dim, *maps, ArrayAttr([IntegerAttr(number, i64) for number in numbers])]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.dim.value.data}")
            for side, attribute in (("lower", self.lower), ("upper", self.upper)):
                printer.print_string(f", {side} ")
                printer.print_attribute(attribute)
            if self.counts:
                printer.print_string(f", counts [{', '.join(map(str, self.arguments))}]")


def is_end(bound: Bound) -> bool:
    """Whether a bound is an upper one: a multiple of a number of the call, less rows' positions."""
    numbers = [c for d, c in bound.form.terms if d >= FIRST_COUNT]
    rows = [c for d, c in bound.form.terms if d < FIRST_COUNT]
    one = len(numbers) == 1 and numbers[0] > 0
    return bound.is_upper and one and all(c < 0 for c in rows)


def ends_of(nest: Operation, extents: Sequence[int]) -> dict[int, tuple[Bound, ...]]:
    """The ends that are noted on a nest, by dimension, as forms over the nest's dimensions."""
    noted = nest.attributes.get(ENDS)
    if not isinstance(noted, ArrayAttr):
        return {}
    entries = [entry for entry in noted if isinstance(entry, BoundsAttr)]
    return {entry.dim.value.data: entry.bounds(extents) for entry in entries}


def _with_symbols(forms: Sequence[Linear], rank: int, counts: Sequence[int]) -> AffineMap:
    """The map of forms over dimensions and counts, which become symbols."""
    places = {dim: rank + number for number, dim in enumerate(counts)}
    plain = map_of(
        [Linear.of({places.get(d, d): c for d, c in f.terms}, f.constant) for f in forms],
        rank + len(counts),
    )
    dims = [AffineExpr.dimension(d) for d in range(rank)]
    symbols = [AffineExpr.symbol(n) for n in range(len(counts))]
    return plain.replace_dims_and_symbols([*dims, *symbols], [], rank, len(counts))


STREAM = "lamina.stream"
"""Attribute of a nest: the `#loop.stream` along which its kernel walks in blocks."""


@irdl_attr_definition
class StreamAttr(ParametrizedAttribute):
    """`#loop.stream<2, block 256>`: dimension 2 is walked 256 positions at a time.

    All nests of the kernel that have the dimension are run for a block before the next one.
    """

    name = "loop.stream"

    dim: IntegerAttr
    block: IntegerAttr

    @staticmethod
    def of(dim: int, block: int) -> StreamAttr:
        """Of a dimension, in blocks of so many positions."""
        return StreamAttr(IntegerAttr(dim, i64), IntegerAttr(block, i64))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[IntegerAttr]:
        with parser.in_angle_brackets():
            dim = parser.parse_integer(allow_negative=False)
            parser.parse_punctuation(",")
            parser.parse_keyword("block")
            block = parser.parse_integer(allow_negative=False)
        return [IntegerAttr(dim, i64), IntegerAttr(block, i64)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.dim.value.data}, block {self.block.value.data}")


__all__ = [
    "BOUNDS",
    "CUT",
    "ENDS",
    "FIRST_COUNT",
    "MASKS",
    "STREAM",
    "ZEROS",
    "Bound",
    "BoundsAttr",
    "StreamAttr",
    "cut_of",
    "ends_of",
    "is_end",
    "masks_of",
    "zeros_of",
]
