"""Schedules beside the chosen one: one clause of one part or nest changed.

What they give may be illegal or slower; who asks tries them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.clauses import BY, FLAG, NUMBER, NUMBERS, ORDINAL, ROWS, WORD, By, Clauses
from lamina.dialects.loop.schedules import NestSchedule

MOST_UNROLL = 16
"""Vectors in one step: more are spilled on any target."""
LEFT_ALONE = frozenset(
    {"compute_with", "inner", "order", "transpose", "online", "algorithm", "alternate"}
)
"""Clauses that say what the loops are, or those around the kernel, not how large."""


def other_schedules(schedule: Attribute) -> Iterator[tuple[str, Attribute]]:
    """`alternatives` of a schedule attribute: the clause that differs, and the other schedule."""
    clauses = schedule.data  # pyright: ignore[reportAttributeAccessIssue]
    before = clauses.texts()
    for other in alternatives(clauses):
        change = next(text for name, text in other.texts().items() if before.get(name) != text)
        try:
            yield change, type(schedule)(other)  # pyright: ignore[reportCallIssue]
        except VerifyException:  # lanes of a wrong number
            continue


def alternatives(clauses: Clauses) -> Iterator[Clauses]:
    """The schedule with one clause twice or half as large, turned round or off."""
    for entry in fields(clauses):
        if entry.name in LEFT_ALONE and entry.metadata["kind"] is not WORD:
            continue
        value = getattr(clauses, entry.name)
        if value is None and (entry.name != "unroll" or not _has_loops(clauses)):
            continue
        for other in _others(entry.metadata["kind"], entry.metadata["words"], value):
            if not (entry.name == "unroll" and other > MOST_UNROLL):
                yield replace(clauses, **{entry.name: other})


def _has_loops(clauses: Clauses) -> bool:
    """Whether loops that are not unrolled might be: those of a nest that shares no other's."""
    return isinstance(clauses, NestSchedule) and not clauses.compute_with


def _others(kind: object, words: tuple[str, ...], value: Any) -> Iterator[Any]:
    if kind is FLAG:
        yield not value
    elif kind in (NUMBER, ROWS):
        yield from _near(value or 1)
    elif kind is ORDINAL:
        yield from (number for number in (0, 1) if number != value)
    elif kind is BY:
        yield from (By(value.dim, count) for count in _near(value.count))
    elif kind is NUMBERS and value:
        yield ()
    elif kind is WORD:
        yield from (word for word in words if word != value)


def _near(number: int) -> Iterator[int]:
    yield number * 2
    if number > 1:
        yield number // 2
    if number > 4:
        yield number * 3 // 4
