"""`expected-error` comments of `lamina-opt --verify-diagnostics`, as MLIR has them.

    // expected-error@+1 {{a part of the message}}
    // expected-error-re@below {{prims.{{[a-z]+}} does not}}

A comment names the line of the error: its own, `@+N`, `@-N`, `@above`, `@below`, or `@unknown` for
an error that has no place in the file. Each must come, and none that no comment names. A piece of
a program ends with its first error, and so may have one such comment. Files without any such
comment print their errors instead, for FileCheck.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lamina.dialects.errors import LaminaError

_COMMENT = re.compile(
    r"//.*?\bexpected-(?P<kind>[a-z]+)(?P<regex>-re)?(?:@(?P<where>\S+))?\s+\{\{(?P<text>.*)\}\}"
)
_ANY = re.compile(r"//.*?\bexpected-(?:error|warning|note|remark)\b")
_PLACE = re.compile(r"(?P<file>[^\n]*?):(?P<line>\d+):\d+: error: ")
_AT = re.compile(r"^  at: (?P<file>.*):(?P<line>\d+):\d+$", re.MULTILINE)


class DiagnosticsDifferError(LaminaError):
    """What is reported is not what the comments of the file expect; never a diagnostic itself."""


@dataclass(frozen=True)
class Expected:
    """An error that a comment expects: in a line of the file, None for one without a place."""

    line: int | None
    text: str
    is_regex: bool
    written_at: int

    def allows(self, line: int | None, message: str) -> bool:
        """Whether an error of this line says what is expected."""
        if line != self.line:
            return False
        if not self.is_regex:
            return self.text in message
        return re.search(_pattern(self.text), message) is not None


@dataclass(frozen=True)
class ExpectedDiagnostics:
    """The comments of one piece of the file called `name`."""

    name: str
    errors: tuple[Expected, ...]

    @classmethod
    def of(cls, text: str, name: str, offset: int = 0) -> ExpectedDiagnostics:
        """Those in a text before which `offset` lines of the file stand.

        Raises DiagnosticsDifferError for comments that are not understood.
        """
        lines = text.split("\n")
        places = [number for number, line in enumerate(lines) if _ANY.search(line)]
        return cls(name, tuple(_read(lines, place, name, offset + 1) for place in places))

    def check(self, message: str | None) -> None:
        """Raises DiagnosticsDifferError unless `message`, None for success, is what is expected."""
        line = None if message is None else self._line_of(message)
        missing = [
            expected
            for expected in self.errors
            if message is None or not expected.allows(line, message)
        ]
        said: list[str] = []
        if message is not None and len(missing) == len(self.errors):
            said.append(f"unexpected error: {message}")
        said += [
            f'{self.name}:{expected.written_at}: error: expected error "{expected.text}" '
            f"{'without a place' if expected.line is None else f'in line {expected.line}'} "
            "was not produced"
            for expected in missing
        ]
        if said:
            raise DiagnosticsDifferError("\n".join(said))

    def _line_of(self, message: str) -> int | None:
        place = _PLACE.match(message) or _AT.search(message)
        if place is None or place["file"] != self.name:
            return None
        return int(place["line"])


def is_annotated(text: str) -> bool:
    """Whether a file has comments that expect diagnostics."""
    return any(_ANY.search(line) for line in text.split("\n"))


def _read(lines: Sequence[str], place: int, name: str, first: int) -> Expected:
    """The comment in line `place` of some lines, the first of which the file numbers `first`."""
    number = first + place
    found = _COMMENT.search(lines[place])
    if found is None:
        raise _bad(name, number, "write // expected-error@+1 {{a part of the message}}")
    if found["kind"] != "error":
        raise _bad(name, number, f"there are errors only, no {found['kind']}s")
    where = found["where"]
    try:
        line = None if where == "unknown" else first + _place(lines, place, where)
        re.compile(_pattern(found["text"]) if found["regex"] else "")
    except re.error as error:
        raise _bad(name, number, f"no regular expression: {error}") from error
    except ValueError as error:
        raise _bad(name, number, str(error)) from error
    return Expected(line, found["text"], found["regex"] is not None, number)


def _place(lines: Sequence[str], place: int, where: str | None) -> int:
    """The line that a comment means; above and below it comments that expect errors are left out.

    Raises ValueError for what is not understood.
    """
    if where is None:
        return place
    if re.fullmatch(r"[+-]\d+", where):
        return place + int(where)
    if where not in ("above", "below"):
        raise ValueError(f"@{where} is none of @+N, @-N, @above, @below, @unknown")
    step = 1 if where == "below" else -1
    place += step
    while 0 <= place < len(lines) and _ANY.search(lines[place]):
        place += step
    return place


def _pattern(text: str) -> str:
    """A regular expression of a text whose parts in {{ }} are regular expressions."""
    pieces: Sequence[str] = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(piece if number % 2 else re.escape(piece) for number, piece in enumerate(pieces))


def _bad(name: str, number: int, reason: str) -> DiagnosticsDifferError:
    return DiagnosticsDifferError(
        f"{name}:{number}: error: not a comment that expects an error: {reason}"
    )
