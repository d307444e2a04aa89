"""The clauses of pretty forms, `word = value`: how values are read and printed."""

from __future__ import annotations

import re
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser

from lamina.dialects.stablehlo.attributes import body_of, fields, make_attribute, make_word, word
from lamina.dialects.stablehlo.op import HloOp
from lamina.dialects.stablehlo.op_table import (
    ALGORITHM,
    BOOL,
    FORMAT,
    INT,
    INTS,
    PAIRS,
    PRECISIONS,
    Clause,
)

_WORD_ATTRIBUTES = {"compare_type": "stablehlo.comparison_type"}
"""The attributes of words that are not called as the property that holds them."""

_INTS = re.compile(r"\[((?:-?[0-9]+, )*+-?[0-9]+)\]")
"""Decimal integers in brackets, spaced as printers do."""

_MANTISSA = re.compile(r"e(\d+)m(\d+)")


def word_attribute(name: str) -> str:
    """The name of the attribute of a word property, as `stablehlo.precision`."""
    return _WORD_ATTRIBUTES.get(name, f"stablehlo.{name}")


def parse_clause(parser: Parser, clause: Clause, properties: dict[str, Attribute]) -> None:
    """The value of a clause, as properties."""
    kind, name = clause.kind, clause.attribute
    if kind == INTS:
        properties[name] = _dense_ints(tuple(parse_ints(parser)))
    elif kind == INT:
        properties[name] = IntegerAttr(parser.parse_integer(), i64)
    elif kind == BOOL:
        properties[name] = BoolAttr.from_bool(parser.parse_boolean())
    elif kind == PAIRS:
        _parse_pairs(parser, name, properties)
    elif kind == PRECISIONS:
        words = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
        properties[name] = ArrayAttr([make_word("stablehlo.precision", text) for text in words])
    elif kind == FORMAT:
        _parse_format(parser, properties)
    elif kind == ALGORITHM:
        parser.parse_punctuation("<")
        text = parser._parse_unregistered_attr_body(None)  # pyright: ignore[reportPrivateUsage]
        parser.parse_punctuation(">")
        properties[name] = make_attribute("stablehlo.dot_algorithm", text)
    else:
        properties[name] = make_word(word_attribute(name), parser.parse_identifier())


def parse_ints(parser: Parser) -> list[int]:
    """`[1, -2]`."""
    content, start = str(parser.lexer.input.content), parser.pos
    found = _INTS.match(content, start)
    if found is None:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    parser._resume_from(found.end())  # pyright: ignore[reportPrivateUsage]
    return [int(text) for text in found[1].split(", ")]


@lru_cache(maxsize=4096)
def _dense_ints(numbers: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, numbers)


_DOT = "dot_dimension_numbers"
_DOT_FIELDS = {"batching": "batching_dimensions", "contracting": "contracting_dimensions"}


def _parse_pairs(parser: Parser, name: str, properties: dict[str, Attribute]) -> None:
    """`[0] x [1]`, of the left and the right side."""
    left = parse_ints(parser)
    parser.parse_keyword("x")
    known = dict(fields(body_of(properties.get(_DOT))))
    known[f"lhs_{_DOT_FIELDS[name]}"] = left
    known[f"rhs_{_DOT_FIELDS[name]}"] = parse_ints(parser)
    text = ", ".join(f"{field} = {known[field]}" for field in sorted(known))
    properties[_DOT] = make_attribute("stablehlo.dot", text)


def _parse_format(parser: Parser, properties: dict[str, Attribute]) -> None:
    text = parser.parse_identifier()
    found = _MANTISSA.fullmatch(text)
    if found is None:
        parser.raise_error(f"expected a format as e5m10, not {text}")
    for name, bits in zip(("exponent_bits", "mantissa_bits"), found.groups(), strict=True):
        properties[name] = IntegerAttr(int(bits), i32)


def clause_text(op: HloOp, clause: Clause) -> str | None:
    """A clause's value; None if it is left out."""
    if clause.kind == PAIRS:
        numbers = fields(body_of(op.attr(_DOT)))
        sides = [
            numbers.get(f"{side}_{_DOT_FIELDS[clause.attribute]}", []) for side in ("lhs", "rhs")
        ]
        return f"{sides[0]} x {sides[1]}" if any(sides) else None
    if clause.kind == FORMAT:
        return f"e{op.int('exponent_bits')}m{op.int('mantissa_bits')}"
    given = op.attr(clause.attribute)
    if given is None:
        return None
    if clause.kind == INTS:
        return str(op.ints(clause.attribute))
    if clause.kind == INT:
        return str(op.int(clause.attribute))
    if clause.kind == BOOL:
        return str(op.flag(clause.attribute)).lower()
    if clause.kind == PRECISIONS:
        assert isinstance(given, ArrayAttr)
        return f"[{', '.join(word(entry) for entry in given)}]"
    return f"<{body_of(given)}>" if clause.kind == ALGORITHM else word(given)
