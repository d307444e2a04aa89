"""Reading a program with ops that do not exist, to find all of them at once."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, OpTraits
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import (
    SourceParser,
    decode_source,
    describe_parse_error,
    nearest_ops,
    verify_module,
)

_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[()]')
"""What counts for the end of a call: parentheses outside of texts and comments."""


class UnknownOp(Operation):
    """An op whose name no dialect has: a call of which only the types of the results are known."""

    traits = OpTraits(tuple)
    hint: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parse(cls, parser: Parser) -> UnknownOp:
        """Read a call as table ops print it; its arguments are skipped."""
        _skip_arguments(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":", f": {cls.name} is no op, and this is no call")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        return cls.create(result_types=_result_types(parser), attributes=attributes)


def _skip_arguments(parser: Parser) -> None:
    """Go behind the parenthesis that closes the call."""
    source: Any = parser.lexer.input.content
    position, depth = parser._current_token.span.start, 0
    if source[position : position + 1] != "(":
        parser.raise_error("expected '(' after the op's name")
    for piece in _PIECE.finditer(source, position):
        depth += {"(": 1, ")": -1}.get(piece.group(), 0)
        if not depth:
            parser._resume_from(piece.end())
            return
    parser.raise_error("this '(' is never closed")


def _result_types(parser: Parser) -> list[Attribute]:
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else list[Attribute](several)


class TolerantParser(SourceParser):
    """Makes an `UnknownOp` of each op that no dialect has."""

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None:
            return found
        hint = tuple(nearest_ops(self.ctx, name))
        return type("UnknownOp", (UnknownOp,), {"name": name, "hint": hint})


def parse_tolerantly(text: bytes, name: str) -> ModuleOp:
    """The verified module of a text. InputError for what is wrong beside unknown ops."""
    try:
        module = TolerantParser(Context(), decode_source(text, name), name).parse_module()
    except ParseError as error:
        raise InputError(describe_parse_error(error)) from error
    except RecursionError as error:
        raise InputError(f"{name}: error: nested too deeply to be read") from error
    verify_module(module)
    return module
