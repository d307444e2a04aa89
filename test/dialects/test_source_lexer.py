"""Tokens of our lexer are those of xDSL's, which reads what the fast expression leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from lamina.dialects.source_lexer import SourceLexer

TESTS = Path(__file__).parents[1]
WORDS = r"""
%0 %a.b %$x %-1 % a _x é aé x.y ( ) [ ] { } {-# #-} < > , : = -> - / // * ? | + ... . 0 42 0x1F 0xi
1.5 1. 1.e5 1.5e-3 4x8xf32 1e9 "s" "a\"b" "open @f @"g" #map #0 !t ^bb0 ; ' //comment
""".split()  # noqa: SIM905 - a list of them is a page


def _tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, int, int]]:
    found: list[tuple[MLIRTokenKind, int, int]] = []
    while not found or found[-1][0] is not MLIRTokenKind.EOF:
        token = lexer.lex()
        found.append((token.kind, token.span.start, token.span.end))
    return found


def _read(kind: type[MLIRLexer], text: str) -> object:
    try:
        return _tokens(kind(Input(text, "t")))
    except ParseError as error:
        return error.span.start


@pytest.mark.parametrize("file", sorted(TESTS.glob("*/*.mlir")), ids=lambda file: file.stem)
def test_of_programs(file: Path) -> None:
    text = file.read_text()
    assert _read(SourceLexer, text) == _read(MLIRLexer, text)


@given(st.lists(st.sampled_from([*WORDS, " ", "\n", "\t", "\f", "\u00a0"]), max_size=12))
def test_of_pieces(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _read(SourceLexer, text) == _read(MLIRLexer, text)
