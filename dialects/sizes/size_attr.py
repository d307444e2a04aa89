"""`#lamina.size`, by which an argument or a result names the sizes that its type leaves open.

    #lamina.size<batch>                      any number from 0 on
    #lamina.size<batch in [1, 128]>          1 to 128, both included
    #lamina.size<length in [16, ?] step 16>  16, 32, 48 and so on
    #lamina.size<2 * batch + 1>              as much as follows from another size

Ranges are closed, as those of `torch.export.Dim`. A range stands with one of the places that a name
has, or with several that agree; `"..."` holds a name that is no identifier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.sizes.size import Range

MOST_SIZE = 1 << 59
"""No size is larger: tensors have no more elements."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class SizeText:
    """`factor * name + offset`, and the range of the name if it stands here."""

    name: str
    factor: int = 1
    offset: int = 0
    range: Range | None = None

    @property
    def is_name(self) -> bool:
        """Whether it is a name alone, which may have a range."""
        return self.factor == 1 and self.offset == 0

    def __str__(self) -> str:
        name = self.name if _IDENTIFIER.fullmatch(self.name) else f'"{self.name}"'
        factor = f"{self.factor} * " if self.factor != 1 else ""
        offset = f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else ""
        held = f" in {self.range}" if self.range is not None else ""
        return f"{factor}{name}{offset}{held}"


@irdl_attr_definition
class SizeAttr(Data[SizeText]):
    """A size that is not known when a program is compiled: `#lamina.size<batch in [1, 128]>`."""

    name = "lamina.size"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SizeText:
        with parser.in_angle_brackets():
            factor = parser.parse_optional_integer(allow_boolean=False)
            if factor is not None:
                parser.parse_punctuation("*")
            name = _name(parser)
            offset = _offset(parser)
            held = _range(parser) if parser.parse_optional_keyword("in") else None
            return SizeText(name, 1 if factor is None else factor, offset, held)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

    def verify(self) -> None:
        """Raises VerifyException for ranges and factors that no size has."""
        said, held = self.data, self.data.range
        if said.factor < 1 or said.factor > MOST_SIZE or abs(said.offset) > MOST_SIZE:
            raise VerifyException(
                f"#lamina.size<{said}>: a size is a positive multiple of another, and an offset"
            )
        if held is None:
            return
        if not said.is_name:
            raise VerifyException(f"#lamina.size<{said}>: only a name has a range")
        if held.least < 0:
            raise VerifyException(f"#lamina.size<{said}>: no size is negative")
        if held.step < 1:
            raise VerifyException(f"#lamina.size<{said}>: a step is 1 or more")
        if held.most is not None and held.most < held.least:
            raise VerifyException(f"#lamina.size<{said}>: the range is empty")
        if max(held.least, held.most or 0, held.step) > MOST_SIZE:
            raise VerifyException(f"#lamina.size<{said}>: no size is above 2^59")


def _name(parser: AttrParser) -> str:
    quoted = parser.parse_optional_str_literal()
    if quoted == "":
        parser.raise_error("a size has a name")
    return parser.parse_identifier("the name of a size") if quoted is None else quoted


def _offset(parser: AttrParser) -> int:
    if parser.parse_optional_punctuation("+"):
        return parser.parse_integer(allow_boolean=False, allow_negative=False)
    if parser.parse_optional_punctuation("-"):
        return -parser.parse_integer(allow_boolean=False, allow_negative=False)
    # `batch -1`: the lexer reads `-1` as one token.
    return parser.parse_optional_integer(allow_boolean=False) or 0


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
