"""Refusing a schedule that a kernel cannot have."""

from __future__ import annotations

from xdsl.ir import Operation

from lamina.dialects.errors import InputError
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.passes.refusal import invalid


def illegal(op: Operation, reason: str) -> InputError:
    """`InputError` naming the nest or kernel whose schedule is not legal, and why."""
    return invalid(op, f"{SCHEDULE}: {reason}")
