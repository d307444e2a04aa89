"""Where in a source text an op stands, as messages say it."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc
from xdsl.ir import Operation


def place_of(op: Operation) -> str | None:
    """Printed source location of `op`: `file:line:column` where it is that simple, else None."""
    location = op.location
    if isinstance(location, UnknownLoc):
        return None
    if isinstance(location, FileLineColLoc):
        file, line, column = location.parameters
        return f"{_text(file)}:{_text(line)}:{_text(column)}"
    return str(location)


def _text(attribute: Any) -> str:
    return str(attribute.data)
