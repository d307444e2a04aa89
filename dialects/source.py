"""Reading textual IR: source locations on every op, and messages that show the place.

xDSL's parser sets a location only where the text says `loc(...)`. `SourceParser` gives every other
operation the line and column it was read from, so that later errors can name it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import ParserState
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException, MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from lamina.dialects.dense_literals import LiteralParser
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.nearest_ops import nearest_ops
from lamina.dialects.repeated_lines import Line, RepeatedLines
from lamina.dialects.source_lexer import SourceLexer
from lamina.dialects.stored_forms import hint_of_op, refuse_bytecode

_SHOWN_COLUMNS = 100
"""How much of a source line a message shows; constants can make lines of many megabytes."""

_NO_ACCIDENTS = (LaminaError, MemoryError, RecursionError)
"""What is meant for users, or says nothing about the text. All else that parsers and verifiers of
ops raise, they raise by accident on malformed text: it is reported at the place reached."""

_PREDICATES = {"arith.cmpi": 10, "arith.cmpf": 16, "loop.cmpi": 10, "loop.cmpf": 16}
"""How many comparisons there are; their verifiers take any number, and printing it fails."""


class SourceParser(LiteralParser):
    """xDSL's parser, with a location on every op and errors that stay inside the text.

    `line_offset` is added to line numbers when `text` is a piece of a longer file.
    """

    def __init__(self, ctx: Context, text: str, name: str, line_offset: int = 0) -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(SourceLexer(Input(text, name)))
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._repeated = RepeatedLines()
        self._line_starts = [0]
        position = text.find("\n")
        while position >= 0:
            self._line_starts.append(position + 1)
            position = text.find("\n", position + 1)

    def _location_at(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, _number(line + self._line_offset), _number(column))

    def _parse_op_result_list(self) -> list[tuple[Span[str], int]]:
        """What an op's results are called; one, as nearly all ops have, without a list of it."""
        token = self._current_token
        if token.kind is MLIRTokenKind.PERCENT_IDENT:
            content = self.lexer.input.content
            if content.startswith(_EQUALS, token.span.end):  # pyright: ignore[reportArgumentType]
                self._resume_from(token.span.end + len(_EQUALS))
                return [(token.span, 1)]
        return super()._parse_op_result_list()

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text; undefined values are reported where they are first used."""
        if self._current_token.kind is MLIRTokenKind.EOF:
            self.raise_error("no operation found: the input is empty")
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            undefined = next(iter(self.forward_ssa_references), None)
            if undefined is not None and error.msg.startswith("values used but not defined"):
                error.span = self._first_use(undefined) or error.span
            elif error.msg == "Could not parse entire input!":
                error.msg = "expected an operation here"
            raise

    def _first_use(self, value_name: str) -> Span[str] | None:
        content = str(self.lexer.input.content)
        found = re.search(rf"%{re.escape(value_name)}(?![\w$.-])", content)
        return Span(found.start(), found.end(), self.lexer.input) if found else None

    def parse_operation(self) -> Operation:
        """Parse one op; errors of its own verifiers and parsers become `ParseError` at the op."""
        start = self._current_token.span
        around = self._parser_state.dialect_stack
        line = self._repeated.line_at(str(self.lexer.input.content), start.start)
        if line is not None:
            known = self._repeated.make(line, around, self.ssa_values)
            if known is not None:
                return self._repeat(line, known, start)
        try:
            operation = super().parse_operation()
        except (DiagnosticException, LaminaError) as error:
            raise ParseError(start, str(error)) from error
        except (ParseError, *_NO_ACCIDENTS):
            raise
        except Exception as error:
            message = f"malformed text here: {_accident(error)}"
            raise ParseError(self._current_token.span, message) from error
        _check_numbers(operation, start)
        if isinstance(operation.location, UnknownLoc):
            operation.location = self._location_at(start.start)
            if line is not None and self._is_read_to(line.end):
                self._repeated.keep(line, around, self.ssa_values, operation)
        return operation

    def _repeat(self, line: Line, operation: Operation, start: Span[str]) -> Operation:
        """The op of a line that the text had before: its result gets its name and its place."""
        if line.result is not None:
            self._register_ssa_definition(line.result, operation.results, start)
        operation.location = self._location_at(start.start)
        self._resume_from(line.end)
        return operation

    def _is_read_to(self, end: int) -> bool:
        """Whether what was parsed last ends with the line that ends there."""
        coming = self.pos
        return coming > end and str(self.lexer.input.content)[end:coming].isspace()

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """An extent, or `?`; larger ones than an i64 would turn into others."""
        start = self._current_token.span
        extent = super().parse_shape_dimension(allow_dynamic)
        if extent >= 2**63:
            self.raise_error(f"extent {extent} is beyond 2^63 - 1", start.start, start.end)
        return extent

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        except LaminaError as error:
            reason = str(error)
        else:
            if found is not None:
                return found
            reason = f"Operation {name} is not registered"
            near = nearest_ops(self.ctx, name)
            if near:
                reason += f"; nearest: {', '.join(near)}"
            reason += hint_of_op(name)
        end = self._current_token.span.start
        start = self.lexer.input.content.rfind(name, 0, end)
        self.raise_error(reason, start, start + len(name))


_EQUALS = " = "
"""Between an op and its result, as printers write it."""


@lru_cache(maxsize=4096)
def _number(value: int) -> IntAttr:
    """A line or a column."""
    return IntAttr(value)


def _check_numbers(operation: Operation, place: Span[str]) -> None:
    """Refuse numbers of the generic form that no verifier looks at."""
    for name in ("operandSegmentSizes", "resultSegmentSizes"):
        sizes = operation.properties.get(name) or operation.attributes.get(name)
        if isinstance(sizes, DenseArrayBase) and any(n < 0 for n in sizes.get_values()):
            raise ParseError(place, f"{operation.name}: a negative number in {name}")
    count = _PREDICATES.get(operation.name)
    predicate = operation.properties.get("predicate")
    if count is not None and isinstance(predicate, IntegerAttr):
        number = predicate.value.data
        if not 0 <= number < count:
            raise ParseError(place, f"{operation.name}: there is no predicate {number}")


def decode_source(data: bytes, name: str) -> str:
    """UTF-8 text of a file; `InputError` with line and column if it is none."""
    refuse_bytecode(data, name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _line_and_column(data, error.start)
        raise InputError(
            f"{name}:{line}:{column}: error: not UTF-8 text (byte 0x{data[error.start]:02x})"
        ) from error
    zero = text.find("\0")
    if zero >= 0:
        line, column = _line_and_column(data, len(text[:zero].encode()))
        raise InputError(f"{name}:{line}:{column}: error: binary data (a zero byte), not text")
    return text


def _line_and_column(data: bytes, position: int) -> tuple[int, int]:
    before = data[:position]
    return before.count(b"\n") + 1, position - (before.rfind(b"\n") + 1) + 1


def parse_module(
    ctx: Context, text: str | bytes, name: str = "<text>", *, verify: bool = True
) -> ModuleOp:
    """Parse (and verify) a module; a fault of the text is an `InputError` showing the place."""
    decoded = decode_source(text, name) if isinstance(text, bytes) else text
    try:
        module = SourceParser(ctx, decoded, name).parse_module()
    except ParseError as error:
        raise InputError(describe_parse_error(error)) from error
    except RecursionError as error:
        raise InputError(f"{name}: error: nested too deeply to be read") from error
    if verify:
        verify_module(module)
    return module


def describe_parse_error(error: ParseError) -> str:
    """`file:line:col: error: message`, the source line, and a caret under the place."""
    lines = _show_span(error.span, error.msg, "error")
    if isinstance(error, MultipleSpansParseError):
        for span, message in error.refs[:4]:
            lines += _show_span(span, message or error.ref_text or "see here", "note")
    return "\n".join(lines)


def _show_span(span: Span[Any], message: str, severity: str) -> list[str]:
    place = span.get_location()
    source = span.input
    begin = source.get_start_of_line(span.start)
    end = source.get_end_of_line(span.start)
    column = span.start - begin
    width = max(min(span.end, end) - span.start, 1)
    left = max(0, min(column - _SHOWN_COLUMNS // 2, end - begin - _SHOWN_COLUMNS))
    shown = str(source.content[begin + left : min(end, begin + left + _SHOWN_COLUMNS)])
    caret = " " * (column - left) + "^" * min(width, _SHOWN_COLUMNS - (column - left))
    return [f"{place}: {severity}: {message.strip()}", shown.replace("\t", " "), caret]


def describe_location(location: LocationAttr) -> str | None:
    """`file:line:col` (or the location's own text), None when unknown."""
    if isinstance(location, UnknownLoc):
        return None
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    return str(location).removeprefix("loc(").removesuffix(")")


def verify_module(module: ModuleOp) -> None:
    """Verify all ops; `InputError` naming the place and the op that does not verify."""
    try:
        module.verify()
    except _NO_ACCIDENTS:
        raise
    except Exception as error:
        raise InputError(describe_invalid(module, error)) from error


def describe_invalid(module: ModuleOp, error: Exception) -> str:
    """One-screen message for a failed `module.verify()`: place, op, reason, the op's text."""
    culprit = first_invalid(module)
    if culprit is None:
        return f"error: {error}"
    operation, reason = culprit
    place = describe_location(operation.location)
    prefix = f"{place}: " if place else ""
    return f"{prefix}error: {operation.name} does not verify: {reason}\n  {shorten(operation)}"


def first_invalid(module: Operation) -> tuple[Operation, str] | None:
    """The first op, inner ops first, whose own verifier fails, and the reason."""
    for operation in _inner_first(module):
        try:
            operation.verify()  # nested again: a region is verified by the op around it
        except DiagnosticException as error:
            return _redefinition(operation) or operation, str(error)
        except _NO_ACCIDENTS:
            raise
        except Exception as error:
            return operation, f"malformed: {_accident(error)}"
    return None


def _accident(error: Exception) -> str:
    """What an error that nobody meant for a user says, in one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(str(error).split()) or type(error).__name__


def _redefinition(table: Operation) -> Operation | None:
    """The first op of a symbol table whose name an op before it has."""
    seen: set[Attribute] = set()
    for operation in table.walk() if table.has_trait(SymbolTable) else ():
        name = operation.properties.get("sym_name")
        if name is not None and operation.parent_op() is table:
            if name in seen:
                return operation
            seen.add(name)
    return None


def _inner_first(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region.blocks:
            for child in block.ops:
                yield from _inner_first(child)
    yield operation


def shorten(operation: Operation, width: int = _SHOWN_COLUMNS) -> str:
    """First line of the op's text, cut to `width` columns."""
    try:
        text = str(operation)
    except Exception:  # an invalid op may not print in its custom form
        return operation.name
    line = text.split("\n", 1)[0]
    return line if len(line) <= width else line[: width - 3] + "..."
