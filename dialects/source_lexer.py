"""Tokens of textual IR: xDSL's lexer, with one regular expression for what programs mostly hold."""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

_FREQUENT = re.compile(
    r"(?:\s++|//[^\n]*+)*+"
    r"(?:(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|([a-zA-Z_][a-zA-Z0-9_$.]*+)"
    r"|([0-9]++)(?![.x])"
    r"|(->|[:,()}\[\]<>=])|(\{)(?!-#))",
    re.ASCII,
)
"""Whitespace, then a value, a word, a decimal integer or punctuation, as xDSL's lexer has them.
What it does not match, that lexer reads."""

_KINDS = (
    None,
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.INTEGER_LIT,
    None,
    MLIRTokenKind.L_BRACE,
)
"""By the number of the group that matched; a piece of punctuation says its own."""


class SourceLexer(MLIRLexer):
    """xDSL's lexer, without its exponential search for the end of a string that has none."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        """The next token; frequent ones take one match, in place of a call for each character."""
        source = self.input
        found = _FREQUENT.match(source.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex or 0
        start, self.pos = found.span(group)
        kind = _KINDS[group] or KIND_BY_PUNCTUATION_SPELLING[found[group]]
        return Token(kind, Span(start, self.pos, source))

    def _lex_prefixed_ident(self, start_pos: int) -> MLIRToken:
        """A name after %, #, ! or ^; without one, an error that says which."""
        prefix = self.input.at(self.pos - 1)
        try:
            return super()._lex_prefixed_ident(start_pos)
        except ParseError as error:
            hint = ": this is no textual IR" if start_pos == 0 else ""
            raise ParseError(error.span, f"expected a name after '{prefix}'{hint}") from error
