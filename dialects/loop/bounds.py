"""Bounds of a dimension: between which positions, row by row, a nest has anything to do.

A causal mask makes most of a row of scores -inf, of weights 0: what stands outside the bounds
changes no result, so that a schedule may leave it out. The bounds are those of MLIR's `affine.for`:
the largest of the lower ones, the smallest of the upper ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, i64
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import forms_of, map_of
from lamina.dialects.loop.linear import Linear

BOUNDS = "lamina.bounds"
"""Attribute of a nest: the `#loop.bounds` of one of its dimensions."""


@dataclass(frozen=True)
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

    The maps go from the domain of the nest, and use its rows only; either may have no results.
    """

    name = "loop.bounds"

    dim: IntegerAttr
    lower: AffineMapAttr
    upper: AffineMapAttr

    @staticmethod
    def of(dim: int, bounds: Sequence[Bound], rank: int) -> BoundsAttr:
        """The bounds of a dimension in a domain of `rank` dimensions."""
        maps = [
            AffineMapAttr(map_of([b.form for b in bounds if b.is_upper == side], rank))
            for side in (False, True)
        ]
        return BoundsAttr(IntegerAttr(dim, i64), *maps)

    def bounds(self, extents: Sequence[int]) -> tuple[Bound, ...]:
        """The bounds as forms over the nest's dimensions. Raises VerifyException for others."""
        found: list[Bound] = []
        for is_upper, attribute in ((False, self.lower), (True, self.upper)):
            forms = None
            if attribute.data.num_dims == len(extents) and not attribute.data.num_symbols:
                forms = forms_of(attribute.data, extents)
            if forms is None:
                raise VerifyException(
                    f"{BOUNDS} are linear in the {len(extents)} dimensions: not {attribute}"
                )
            found += [Bound(is_upper, form) for form in forms]
        return tuple(found)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[IntegerAttr | AffineMapAttr]:
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
        return [dim, *maps]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.dim.value.data}")
            for side, attribute in (("lower", self.lower), ("upper", self.upper)):
                printer.print_string(f", {side} ")
                printer.print_attribute(attribute)


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


__all__ = ["BOUNDS", "STREAM", "Bound", "BoundsAttr", "StreamAttr"]
