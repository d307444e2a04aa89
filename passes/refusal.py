"""Refusing an op: the error that names it, its operand types and where it stands."""

from __future__ import annotations

from xdsl.ir import Operation

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.places import place_of


def unsupported(op: Operation, reason: str, nearest: str | None = None) -> UnsupportedError:
    """`UnsupportedError` naming the op, its operand types and where it stands."""
    return UnsupportedError(
        op.name,
        reason,
        types=[str(operand.type) for operand in op.operands],
        location=place_of(op),
        nearest=nearest,
    )


def invalid(op: Operation, reason: str) -> InputError:
    """`InputError` naming the place and the op; for contracts that a program breaks."""
    place = place_of(op)
    return InputError(f"{place}: error: {op.name}: {reason}" if place else f"{op.name}: {reason}")
