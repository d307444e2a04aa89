"""Refusing an op: the error that names it, its operand types and where it stands."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc
from xdsl.ir import Operation

from lamina.dialects.errors import InputError, UnsupportedError


def unsupported(op: Operation, reason: str, nearest: str | None = None) -> UnsupportedError:
    """`UnsupportedError` naming the op, its operand types and where it stands."""
    return UnsupportedError(
        op.name,
        reason,
        types=[str(operand.type) for operand in op.operands],
        location=place_of(op),
        nearest=nearest,
    )


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


def invalid(op: Operation, reason: str) -> InputError:
    """`InputError` naming the place and the op; for contracts that a program breaks."""
    place = place_of(op)
    return InputError(f"{place}: error: {op.name}: {reason}" if place else f"{op.name}: {reason}")
