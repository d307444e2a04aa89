"""Reads the custom text of table ops.

Arguments may be positional, at their place in the schema, or named. Programs consist of little
else than such ops, and xDSL's tokens, spans and general type parser take most of the time of
reading one: this reads the call with one regular expression a token straight from the text, and
leaves to xDSL what is rare (attributes, types that are not plain tensors, forward references).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Span

from lamina.dialects.schema.grammar import ELEMENT_NAMES, NO_DEFAULT, Kind
from lamina.dialects.schema.names import BindError
from lamina.dialects.schema.slots import Slot
from lamina.dialects.schema.values import describe

if TYPE_CHECKING:
    from lamina.dialects.schema.op import SchemaOp

_SPACE = r"(?:\s+|//[^\n]*(?:\n|$))*"
_TOKEN = re.compile(
    _SPACE + r"(?:%(?P<value>[\w$.-]+)(?:#(?P<index>\d+))?"
    r"|(?P<word>(?:complex<f(?:32|64)>)|[A-Za-z_]\w*)"
    r"|(?P<number>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf\b|nan\b))"
    r'|(?P<text>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<mark>->|[](),=:{\[]))",
    re.ASCII,
)
_TENSOR = re.compile(_SPACE + r"(tensor<((?:[\d?]+x)*)([a-z]+\d+|complex<f\d\d>)>)", re.ASCII)

_WORDS: dict[str, Any] = {
    "none": None,
    "true": True,
    "false": False,
    "inf": math.inf,
    "nan": math.nan,
    **ELEMENT_NAMES,
}


class _Value(NamedTuple):
    """A use of an SSA value, before its type is known."""

    name: str
    index: int
    start: int
    end: int


class _Text:
    """A position in the text of a parser."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.source: str = parser.lexer.input.content  # pyright: ignore[reportAttributeAccessIssue]
        self.position: int = parser._current_token.span.start

    def fail(self, message: str, start: int | None = None, end: int | None = None) -> NoReturn:
        """Raise a ParseError at a place, by default the present one."""
        if start is None:
            blank = re.compile(_SPACE).match(self.source, self.position)
            start = blank.end() if blank else self.position
        stop = min(start + 1 if end is None else end, len(self.source))
        self.parser.raise_error(message, Span(min(start, stop), stop, self.parser.lexer.input))

    def token(self) -> re.Match[str]:
        """The next token of a call; an error if there is none."""
        found = _TOKEN.match(self.source, self.position)
        if found is None:
            self.fail("expected an argument, ',' or ')'")
        self.position = found.end()
        return found

    def expect(self, mark: str, after: str) -> None:
        """Read a punctuation mark."""
        found = _TOKEN.match(self.source, self.position)
        if found is None or found["mark"] != mark:
            self.fail(f"expected '{mark}' after {after}")
        self.position = found.end()

    def optional(self, mark: str) -> bool:
        """Read a punctuation mark if it comes next."""
        found = _TOKEN.match(self.source, self.position)
        if found is None or found["mark"] != mark:
            return False
        self.position = found.end()
        return True


def parse_op(cls: type[SchemaOp], parser: Parser) -> Any:
    """Read what follows the op's name."""
    text = _Text(parser)
    start = text.position
    text.expect("(", "the op's name")
    bound = _parse_arguments(text, cls)
    attributes: dict[str, Attribute] = {}
    if text.optional("{"):
        attributes = _parse_attributes(text)
    text.expect(":", "the arguments")
    types_at = text.position
    types = _parse_types(text)
    text.expect("->", "the operand types")
    results = _parse_types(text) if _next_is_list(text) else [_parse_type(text)]
    bound = _resolve(text, bound, types, types_at)
    try:
        operands, properties = cls._store(bound)
    except BindError as error:
        text.fail(str(error), start)
    op = cls.create(
        operands=operands, result_types=results, properties=properties, attributes=attributes
    )
    parser._resume_from(text.position)
    return op


def _parse_arguments(text: _Text, cls: type[SchemaOp]) -> list[Any]:
    slots = cls.slots.all
    bound: list[Any] = [NO_DEFAULT] * len(slots)
    place = 0
    if text.optional(")"):
        return bound
    while True:
        found = text.token()
        start = _start(found)
        word = found["word"]
        if word is not None and text.optional("="):
            slot = cls.slots.by_name.get(word)
            if slot is None:
                text.fail(cls._no_argument(word), start, start + len(word))
            place = slots.index(slot)
            found = None
        elif place >= len(slots):
            text.fail(f"{cls.name} takes {len(slots)} arguments", start, text.position)
        slot = slots[place]
        if bound[place] is not NO_DEFAULT:
            text.fail(f"argument '{slot.name}' is given twice", start, text.position)
        bound[place] = _parse_argument(text, slot, found or text.token())
        place += 1
        closing = text.token()["mark"]
        if closing == ")":
            return bound
        if closing != ",":
            text.position -= 1
            text.fail("expected ',' or ')' after an argument")


def _start(found: re.Match[str]) -> int:
    """Where the token itself begins, after white space and comments."""
    if found["value"] is not None:
        return found.start("value") - 1
    return found.start(found.lastgroup or 0)


def _parse_argument(text: _Text, slot: Slot, found: re.Match[str]) -> Any:
    if found["mark"] != "[":
        return _parse_entry(text, slot, found)
    entries: list[Any] = []
    if text.optional("]"):
        return entries
    while True:
        entries.append(_parse_entry(text, slot, text.token()))
        closing = text.token()["mark"]
        if closing == "]":
            return entries
        if closing != ",":
            text.fail(f"expected ',' or ']' in the list '{slot.name}'", text.position - 1)


def _parse_entry(text: _Text, slot: Slot, found: re.Match[str]) -> Any:
    kind = found.lastgroup
    if kind == "value" or kind == "index":
        name = found["value"]
        return _Value(name, int(found["index"] or 0), found.start("value") - 1, found.end())
    if kind == "number":
        return _number(found["number"], slot)
    if kind == "text":
        return _string(found["text"])
    if kind == "word":
        word = found["word"]
        if word in _WORDS:
            return _WORDS[word]
        if word == "complex" and text.optional("("):
            real = _parse_entry(text, slot, text.token())
            text.expect(",", "the real part")
            imaginary = _parse_entry(text, slot, text.token())
            text.expect(")", "the imaginary part")
            return complex(real, imaginary)
    start = _start(found)
    text.fail(f"argument '{slot.name}' must be {describe(slot.type)}", start, found.end())


def _number(text: str, slot: Slot) -> int | float:
    try:
        value = int(text)
    except ValueError:
        return float(text)
    return float(value) if slot.kind is Kind.FLOAT else value


_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_ESCAPED = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}


def _string(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]

    def unescape(match: re.Match[str]) -> str:
        found = match[1]
        raw = _ESCAPED[found] if found in _ESCAPED else bytes.fromhex(found)
        return raw.decode("latin-1")

    raw = _ESCAPE.sub(unescape, text[1:-1].encode().decode("latin-1"))
    return raw.encode("latin-1").decode()


# What is left to xDSL's parser


def _parse_attributes(text: _Text) -> dict[str, Attribute]:
    parser = text.parser
    parser._resume_from(text.position - 1)
    attributes = parser.parse_optional_attr_dict()
    text.position = parser._current_token.span.start
    return attributes


def _parse_type(text: _Text) -> Attribute:
    found = _TENSOR.match(text.source, text.position)
    if found is not None:
        kind = _tensor_type(found[2], found[3])
        if kind is not None:
            text.position = found.end()
            return kind
    parser = text.parser
    parser._resume_from(text.position)
    kind = parser.parse_type()
    text.position = parser._current_token.span.start
    return kind


@lru_cache(8192)
def _tensor_type(dims: str, element: str) -> TensorType | None:
    kind = ELEMENT_NAMES.get(element)
    if kind is None or (dims and not all(d == "?" or d.isdecimal() for d in dims[:-1].split("x"))):
        return None
    sizes = [DYNAMIC_INDEX if d == "?" else int(d) for d in dims.split("x")[:-1]]
    return TensorType(kind, sizes)


def _next_is_list(text: _Text) -> bool:
    found = _TOKEN.match(text.source, text.position)
    return found is not None and found["mark"] == "("


def _parse_types(text: _Text) -> list[Attribute]:
    text.expect("(", "':' or '->'")
    types: list[Attribute] = []
    if text.optional(")"):
        return types
    while True:
        types.append(_parse_type(text))
        if text.optional(")"):
            return types
        text.expect(",", "a type")


def _resolve(text: _Text, bound: list[Any], types: Sequence[Attribute], at: int) -> list[Any]:
    """Replace uses by the values they name, which take their types in the same order."""
    count = sum(
        isinstance(entry, _Value)
        for value in bound
        for entry in (value if isinstance(value, list) else (value,))
    )
    if count != len(types):
        text.fail(f"{count} operands, but {len(types)} operand types", at, text.position)
    remaining = iter(types)

    def resolved(value: Any) -> Any:
        if isinstance(value, _Value):
            return _lookup(text, value, next(remaining))
        if isinstance(value, list):
            return [resolved(entry) for entry in value]
        return value

    return [resolved(value) for value in bound]


def _lookup(text: _Text, use: _Value, kind: Attribute) -> SSAValue | Operation:
    parser = text.parser
    defined = parser.ssa_values.get(use.name)
    if defined is not None and use.index < len(defined):
        value = defined[use.index]
        if value.type is kind:
            return value
    end = use.start + 1 + len(use.name)
    span = Span(use.start, end, parser.lexer.input)
    return parser.resolve_operand(UnresolvedOperand(span, use.index), kind)
