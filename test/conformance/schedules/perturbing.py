"""Other texts of a kernel's schedule: each clause with other values, most of them wrong.

An entry is the schedule of a part or of a nest: a kind such as `loop.rows`, and clauses as they are
printed. Texts are made, not attributes, as what no attribute may hold is to be refused, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import permutations
from random import Random
from typing import Any

from lamina.dialects.loop.clauses import (
    BY,
    DIM,
    DIMS,
    FACTORS,
    FLAG,
    NUMBER,
    NUMBERS,
    ORDINAL,
    ROWS,
    WORD,
    Clauses,
    ClausesAttr,
)
from lamina.dialects.loop.schedules import SCHEDULES

KINDS: dict[str, type[Clauses]] = {
    kind.name: kind.kind for kind in SCHEDULES if issubclass(kind, ClausesAttr)
}
COUNTS = (-1, 0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 37, 64, 65, 1000, 1 << 21)
DIM_COUNTS = (0, 1, 2, 3, 7, 8, 16, 64)
LANES = (0, 1, 2, 3, 4, 8, 16, 32, 64, 128)
LISTS = ("[]", "[0]", "[1]", "[0, 1]", "[2]", "[3, 1]", "[0, 0]", "[-1]", "[9]")
STEPS = (
    "[]",
    "[0]",
    "[1]",
    "[7]",
    "[5, 7]",
    "[7, 5]",
    "[2, 3]",
    "[16, 16]",
    "[4, 4, 4, 4]",
    "[33]",
)
MOST_ORDERS = 8
MOST_CHANGES = 5


@dataclass(frozen=True)
class Entry:
    """One schedule of a kernel's, as text; `extents` are those of the nest that has it."""

    kind: str
    clauses: dict[str, str]
    extents: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """As it stands in the text of the kernel's schedule."""
        return f"#{self.kind}<{', '.join(self.clauses.values())}>"

    def changed(self, name: str, value: str | None) -> Entry:
        """With a clause as `value` says, or without it."""
        left = {n: text for n, text in self.clauses.items() if n != name}
        return replace(self, clauses=left if value is None else {**left, name: value})


Schedule = tuple[Entry, ...]


def text_of(schedule: Schedule) -> str:
    """The text of a kernel's schedule, an entry in each line."""
    return "[" + ",\n".join(entry.text for entry in schedule) + "]"


def perturbed(schedule: Schedule, others: Sequence[Schedule], seed: str) -> Iterator[Schedule]:
    """Schedules that differ in one clause or entry, then half as many with several changes."""
    single = list(_single(schedule, others))
    yield from single
    random = Random(seed)
    for _ in range(len(single) // 2):
        yield _several(schedule, random)


def _single(schedule: Schedule, others: Sequence[Schedule]) -> Iterator[Schedule]:
    for number, entry in enumerate(schedule):
        for other in _entries(entry, schedule):
            yield (*schedule[:number], other, *schedule[number + 1 :])
    yield schedule[:-1]
    yield (*schedule, schedule[-1])
    yield schedule[::-1]
    yield tuple(replace(entry, clauses={}) for entry in schedule)
    yield from others


def _entries(entry: Entry, schedule: Schedule) -> Iterator[Entry]:
    """What may stand in the place of an entry."""
    for name in entry.clauses:
        yield entry.changed(name, None)
    for name, values in _values(entry):
        for value in values:
            if entry.clauses.get(name) != value:
                yield entry.changed(name, value)
    yield replace(entry, clauses={})
    yield from (replace(e, extents=entry.extents) for e in schedule if e.text != entry.text)
    yield entry.changed("tiles", "tiles = 4")  # no clause of any kind


def _several(schedule: Schedule, random: Random) -> Schedule:
    entries = list(schedule)
    if random.random() < 0.2:
        entries = [replace(entry, clauses={}) for entry in entries]
    for _ in range(random.randint(2, MOST_CHANGES)):
        number = random.randrange(len(entries))
        name, values = random.choice(list(_values(entries[number])))
        value = None if random.random() < 0.15 else random.choice(values)
        entries[number] = entries[number].changed(name, value)
    return tuple(entries)


def _values(entry: Entry) -> Iterator[tuple[str, list[str]]]:
    """Each clause that an entry of its kind may have, as texts of it."""
    for clause in fields(KINDS[entry.kind]):
        name, metadata = clause.name, clause.metadata
        yield name, [f"{name}{form}" for form in _forms(name, metadata, entry.extents)]


def _forms(name: str, metadata: Any, extents: tuple[int, ...]) -> Iterator[str]:
    kind, rank = metadata["kind"], len(extents)
    if kind is FLAG:
        yield from ("", " = false")
    elif kind in (NUMBER, ROWS):
        yield from (f" = {count}" for count in (LANES if name == "lanes" else COUNTS))
    elif kind is DIM:
        yield from (f" = d{dim}" for dim in range(rank + 1))
    elif kind is BY:
        for dim in range(rank + 1):
            yield from (f" = d{dim} x {count}" for count in _counts(name, dim, extents))
    elif kind is DIMS:
        yield from (f" = [{', '.join(f'd{d}' for d in dims)}]" for dims in _orders(rank))
    elif kind is NUMBERS:
        yield from (f" = {listed}" for listed in LISTS)
    elif kind is FACTORS:
        yield from (f" = {listed}" for listed in STEPS)
    elif kind is ORDINAL:
        yield from (f" = {number}" for number in range(rank + 2))
    else:
        assert kind is WORD
        yield from (f" = {word}" for word in (*metadata["words"], "elsewhere"))


def _counts(name: str, dim: int, extents: tuple[int, ...]) -> list[int]:
    if name == "vectorize":
        return list(LANES)
    if dim == len(extents):
        return [4]
    near = (extents[dim] // 2, extents[dim] - 1, extents[dim], extents[dim] + 1)
    return sorted({*DIM_COUNTS, *near})


def _orders(rank: int) -> Iterator[tuple[int, ...]]:
    yield ()
    yield (0, 0)
    yield (rank,)
    yield from ((dim,) for dim in range(rank))
    yield from list(permutations(range(rank)))[:MOST_ORDERS]
