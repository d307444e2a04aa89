"""Clauses, of which schedules and notes on nests consist: read, printed and verified."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import Field, field, fields, replace
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.records import record

MOST = 1 << 20
"""No clause asks for more positions than this."""
MOST_COPIES = 64
"""Nor for more copies of a body, or parts side by side: code grows with them."""
MOST_FACTOR = 32
"""Nor for longer steps of a transform."""
MOST_ROWS = 1 << 48
"""More rows have no addresses: those of x86-64 and AArch64 have 48 bits."""
COPYING = frozenset({"unroll", "jam", "rfactor", "vectorize", "lanes", "prefetch_tiles"})
"""Clauses that make copies."""


@record
class By:
    """So many positions of a dimension; prints as `d1 x 16`."""

    dim: int
    count: int


def _flag(parser: AttrParser) -> bool:
    return parser.parse_optional_punctuation("=") is None or parser.parse_boolean()


def _number(parser: AttrParser) -> int:
    parser.parse_punctuation("=")
    return parser.parse_integer(allow_boolean=False)  # `verify` says what is legal


def _ordinal(parser: AttrParser) -> int:
    parser.parse_punctuation("=")
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def _dim(parser: AttrParser) -> int:
    name = parser.parse_identifier("a dimension, such as d0,")
    if not (name[:1] == "d" and name[1:].isdecimal()):
        parser.raise_error(f"'{name}' is no dimension, such as d0")
    return int(name[1:])


def _one_dim(parser: AttrParser) -> int:
    parser.parse_punctuation("=")
    return _dim(parser)


def _by(parser: AttrParser) -> By:
    dim = _one_dim(parser)
    parser.parse_keyword("x")
    return By(dim, parser.parse_integer(allow_boolean=False))


def _dims(parser: AttrParser) -> tuple[int, ...]:
    parser.parse_punctuation("=")
    square = AttrParser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, lambda: _dim(parser)))


def _numbers(parser: AttrParser) -> tuple[int, ...]:
    parser.parse_punctuation("=")
    square = AttrParser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, lambda: parser.parse_integer(False)))


def _word(parser: AttrParser) -> str:
    parser.parse_punctuation("=")
    return parser.parse_identifier()


def _listed(prefix: str) -> Callable[[Any], str]:
    return lambda values: f"[{', '.join(f'{prefix}{v}' for v in values)}]"


@record
class ClauseKind:
    """What stands behind a clause's name: how it is written, read and printed."""

    form: str
    parse: Callable[[AttrParser], Any]
    text: Callable[[Any], str]


FLAG = ClauseKind("", _flag, lambda value: "" if value else " = false")
NUMBER = ClauseKind(" = 4", _number, lambda value: f" = {value}")
ROWS = ClauseKind(" = 4096", _number, lambda value: f" = {value}")
ORDINAL = ClauseKind(" = 0", _ordinal, lambda value: f" = {value}")
DIM = ClauseKind(" = d0", _one_dim, lambda value: f" = d{value}")
BY = ClauseKind(" = d0 x 4", _by, lambda value: f" = d{value.dim} x {value.count}")
DIMS = ClauseKind(" = [d0, d1]", _dims, lambda value: f" = {_listed('d')(value)}")
NUMBERS = ClauseKind(" = [0, 1]", _numbers, lambda value: f" = {_listed('')(value)}")
FACTORS = ClauseKind(" = [4, 4]", _numbers, lambda value: f" = {_listed('')(value)}")
WORD = ClauseKind(" = word", _word, lambda value: f" = {value}")


def clause(kind: ClauseKind, meaning: str, words: tuple[str, ...] = ()) -> Any:
    """A field of a schedule: `meaning` goes to the docs; `words` are those that it may be."""
    return field(default=None, metadata={"kind": kind, "meaning": meaning, "words": words})


@record
class Clauses(ABC):
    """What a schedule says; None for what it leaves open."""

    attribute_name: ClassVar[str]

    def text(self) -> str:
        """The clauses as they are printed."""
        return ", ".join(self.texts().values())

    def texts(self) -> dict[str, str]:
        """Each clause that is said, by its name, as it is printed."""
        said = ((f, getattr(self, f.name)) for f in _fields_of(type(self)))
        return {
            f.name: f"{f.name}{f.metadata['kind'].text(value)}"
            for f, value in said
            if value is not None
        }

    @classmethod
    def parsed(cls, parser: AttrParser) -> dict[str, Any]:
        """Reads clauses in any order, each once."""
        known = {f.name: f for f in fields(cls)}
        said: dict[str, Any] = {}
        while (name := parser.parse_optional_identifier()) is not None:
            if name not in known:
                parser.raise_error(
                    f"#{cls.attribute_name} has no clause '{name}'; it has {', '.join(known)}"
                )
            if name in said:
                parser.raise_error(f"#{cls.attribute_name} says '{name}' twice")
            said[name] = known[name].metadata["kind"].parse(parser)
            if parser.parse_optional_punctuation(",") is None:
                break
        return said

    def verify(self) -> None:
        """Raises VerifyException for numbers that no schedule has."""
        for entry in _fields_of(type(self)):
            value = getattr(self, entry.name)
            if value is None:
                continue
            words = entry.metadata["words"]
            where = f"#{self.attribute_name}: {entry.name}"
            count = value.count if isinstance(value, By) else value
            counts = entry.metadata["kind"] in (NUMBER, ROWS, BY)
            most = MOST_COPIES if entry.name in COPYING else MOST
            if entry.metadata["kind"] is ROWS:
                most = MOST_ROWS
            if counts and not 1 <= count <= most:
                raise VerifyException(f"{where} = {count} is not between 1 and {most}")
            if entry.metadata["kind"] is FACTORS:
                _verify_factors(where, cast(Any, value))
            elif isinstance(value, tuple) and len(set(cast(Any, value))) != len(cast(Any, value)):
                raise VerifyException(f"{where} names one twice")
            if words and value not in words:
                raise VerifyException(f"{where} = {value} is none of {', '.join(words)}")

    def completed_by(self, chosen: Clauses) -> Any:
        """These clauses, and those of `chosen` where these leave them open."""
        own = {f.name: getattr(self, f.name) for f in _fields_of(type(self))}
        said = {k: v for k, v in own.items() if v is not None}
        return replace(chosen, **said) if said else chosen


@cache
def _fields_of(kind: type[Clauses]) -> tuple[Field[Any], ...]:
    return fields(kind)  # which looks through all of them each time


def _verify_factors(where: str, factors: tuple[int, ...]) -> None:
    for factor in factors:
        if not 1 <= factor <= MOST_FACTOR:
            raise VerifyException(f"{where}: {factor} is not between 1 and {MOST_FACTOR}")


ClausesT = TypeVar("ClausesT", bound=Clauses)


class ClausesAttr(Data[ClausesT], ABC):
    """An attribute that is made of clauses: printing, reading and verifying."""

    kind: ClassVar[type[Clauses]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return cls.kind(**cls.kind.parsed(parser))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.text())

    def verify(self) -> None:
        self.data.verify()
