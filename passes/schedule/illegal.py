"""Refusing a schedule that a kernel cannot have."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from lamina.dialects.errors import InputError
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.passes.refusal import invalid


def dim_names(dims: Iterable[int]) -> str:
    """Dimensions as messages list them."""
    return ", ".join(f"d{d}" for d in dims) or "none"


def illegal(op: Operation, reason: str) -> InputError:
    """`InputError` naming the nest or kernel whose schedule is not legal, and why."""
    return invalid(op, f"{SCHEDULE}: {reason}")
