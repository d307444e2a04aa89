"""`#lamina.size`, by which an argument or a result names the sizes that its type leaves open.

    #lamina.size<batch>                      any number from 0 on
    #lamina.size<batch in [1, 128]>          1 to 128, both included
    #lamina.size<length in [16, ?] step 16>  16, 32, 48 and so on
    #lamina.size<2 * batch + 1>              as much as follows from another size
    #lamina.size<8 * blocks in [8, 64]>      8, 16 and so on to 64
    #lamina.size<past + 2 * new>             or from several
    #lamina.size<batch * length>             a product of sizes

Ranges are closed, as those of `torch.export.Dim`. A range stands with one of the places that a name
has, or with several that agree: the name alone, or a multiple of it and an offset, of which the
range then is. `"..."` holds a name that is no identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self, TypeAlias

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.records import record
from lamina.dialects.sizes.size import Range, Size

MOST_SIZE = 1 << 59
"""No size is larger: tensors have no more elements."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


Terms: TypeAlias = tuple[tuple[tuple[str, ...], int], ...]
"""Products of names, with the factor of each."""


@record
class SizeText:
    """A sum of multiples of names and of their products, an `offset`, and the range of the sum, of
    one name, if it stands here. Terms are in the order of their names, each once."""

    terms: Terms
    offset: int = 0
    range: Range | None = None

    @classmethod
    def of(cls, name: str, factor: int = 1, offset: int = 0) -> Self:
        """`factor * name + offset`."""
        return cls((((name,), factor),), offset)

    @classmethod
    def ranged(cls, name: str, held: Range) -> Self:
        """A name alone, with its range."""
        return cls((((name,), 1),), 0, held)

    @classmethod
    def sum_of(cls, terms: Iterable[tuple[Sequence[str], int]], offset: int = 0) -> Self:
        """What a sum is, whose terms come in any order, and perhaps more than once."""
        found: dict[tuple[str, ...], int] = {}
        for names, factor in terms:
            product = tuple(sorted(names))
            found[product] = found.get(product, 0) + factor
        return cls(tuple(sorted(found.items())), offset)

    @property
    def names(self) -> list[str]:
        """All names that it depends on, each once."""
        return list(dict.fromkeys(name for product, _ in self.terms for name in product))

    @property
    def is_name(self) -> bool:
        """Whether it is a name alone, which may have a range."""
        return self.offset == 0 and [(len(p), by) for p, by in self.terms] == [(1, 1)]

    @property
    def name(self) -> str:
        """The name that it is alone."""
        assert self.is_name
        return self.names[0]

    @property
    def tells_range(self) -> bool:
        """Whether a range of it is one of a name: it is a multiple of one, and an offset."""
        return [len(product) for product, _ in self.terms] == [1]

    @property
    def name_range(self) -> Range | None:
        """The range of the name, if one stands here; it may be empty."""
        held = self.range
        if held is None or not self.tells_range:
            return None
        ((_, factor),) = self.terms
        least = max(0, -(-(held.least - self.offset) // factor))
        most = None if held.most is None else (held.most - self.offset) // factor
        return Range(least, most, max(1, held.step // factor))

    def with_range(self, name: Range) -> SizeText:
        """The same with the range that it has if its name has that one."""
        ((_, factor),) = self.terms
        most = None if name.most is None else name.most * factor + self.offset
        step = 1 if name.step == 1 else name.step * factor
        return replace(self, range=Range(name.least * factor + self.offset, most, step))

    def renamed(self, old: str, new: str) -> SizeText:
        """The same of another size."""
        terms = [([new if n == old else n for n in names], by) for names, by in self.terms]
        return replace(type(self).sum_of(terms, self.offset), range=self.range)

    def __str__(self) -> str:
        offset = f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else ""
        held = f" in {self.range}" if self.range is not None else ""
        return " + ".join(map(_term_text, self.terms)) + offset + held


def size_text(size: Size) -> SizeText | None:
    """A size as text, without a range; None if a factor is negative."""
    terms = [([n.text for n in names], factor) for names, factor in size.terms if names]
    if any(factor < 1 for _, factor in terms):
        return None
    return SizeText.sum_of(terms, dict(size.terms).get((), 0))


def _term_text(term: tuple[tuple[str, ...], int]) -> str:
    names, factor = term
    texts = [name if _IDENTIFIER.fullmatch(name) else f'"{name}"' for name in names]
    return " * ".join(texts if factor == 1 else [str(factor), *texts])


@irdl_attr_definition
class SizeAttr(Data[SizeText]):
    """A size that is not known when a program is compiled: `#lamina.size<batch in [1, 128]>`."""

    name = "lamina.size"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SizeText:
        start = parser.pos
        with parser.in_angle_brackets():
            terms, offset = [_term(parser)], 0
            while (found := _next(parser)) is not None:
                if isinstance(found, int):
                    offset += found
                else:
                    terms.append(found)
            held = _range(parser) if parser.parse_optional_keyword("in") else None
            said = replace(SizeText.sum_of(terms, offset), range=held)
            end = parser.pos
        if reason := _fault(said):
            parser.raise_error(f"#lamina.size<{said}>: {reason}", start, end)
        return said

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

    def verify(self) -> None:
        """Raises VerifyException for ranges and factors that no size has."""
        if reason := _fault(self.data):
            raise VerifyException(f"#lamina.size<{self.data}>: {reason}")


def _fault(said: SizeText) -> str | None:
    """Why no size is what a text says; None if one may be."""
    held = said.range
    factors = [factor for _, factor in said.terms]
    if min(factors) < 1 or max(factors) > MOST_SIZE or abs(said.offset) > MOST_SIZE:
        return "a size is a positive multiple of another, and an offset"
    if held is None:
        return None
    if not said.tells_range:
        return "only a size of one name has a range"
    if held.least < 0:
        return "no size is negative"
    if held.step < 1:
        return "a step is 1 or more"
    if held.step > 1 and held.step % max(factors):
        return f"its steps are multiples of {max(factors)}"
    own = said.name_range or held
    if own.most is not None and own.most < own.least:
        return "the range is empty"
    if max(held.least, held.most or 0, held.step) > MOST_SIZE:
        return "no size is above 2^59"
    return None


def _name(parser: AttrParser) -> str:
    quoted = parser.parse_optional_str_literal()
    if quoted == "":
        parser.raise_error("a size has a name")
    return parser.parse_identifier("the name of a size") if quoted is None else quoted


def _term(parser: AttrParser) -> tuple[list[str], int]:
    """`factor * name * name`, the factor perhaps left out."""
    factor = parser.parse_optional_integer(allow_boolean=False)
    if factor is not None:
        parser.parse_punctuation("*")
    return _product(parser, 1 if factor is None else factor)


def _product(parser: AttrParser, factor: int) -> tuple[list[str], int]:
    names = [_name(parser)]
    while parser.parse_optional_punctuation("*"):
        names.append(_name(parser))
    return names, factor


def _next(parser: AttrParser) -> tuple[list[str], int] | int | None:
    """What is added behind a term: another one, or a number; None where the size ends."""
    if parser.parse_optional_punctuation("+"):
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if number is None:
            return _product(parser, 1)
        return _product(parser, number) if parser.parse_optional_punctuation("*") else number
    if parser.parse_optional_punctuation("-"):
        return -parser.parse_integer(allow_boolean=False, allow_negative=False)
    # `batch -1`: the lexer reads `-1` as one token.
    return parser.parse_optional_integer(allow_boolean=False)


def _range(parser: AttrParser) -> Range:
    with parser.in_square_brackets():
        least = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(",")
        is_open = parser.parse_optional_punctuation("?") is not None
        most = None if is_open else parser.parse_integer(allow_boolean=False)
    step = 1
    if parser.parse_optional_keyword("step"):
        step = parser.parse_integer(allow_boolean=False)
    return Range(least, most, step)
