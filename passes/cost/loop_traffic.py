"""Bytes that the loops of a scheduled kernel move between levels of the memory, by footprint.

A loop whose bytes fit a cache fetches each of them once; one whose single round fits keeps what its
rounds share; any other fetches in each round what its parts fetch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from math import prod

from xdsl.ir import Operation, SSAValue

from lamina.dialects.records import mutable_record, record
from lamina.passes.cost.fusion_cost import value_bytes


@record
class Access:
    """`bytes` of `root` at an address that changes with the loops of `moves`.

    `writes` is how often each byte moves where it is stored: lines are read before they are
    written back, unless they are stored past the caches; 0 where it is loaded.
    """

    root: SSAValue
    bytes: int
    moves: frozenset[Operation | None]
    writes: int = 0


@mutable_record
class Level:
    """A loop, or the kernel (None): its rounds, and what one round touches and runs."""

    loop: Operation | None
    rounds: float = 1.0
    accesses: list[Access] = field(default_factory=list)
    inner: list[Level] = field(default_factory=list)

    def walk(self) -> Iterator[tuple[Access, tuple[Level, ...]]]:
        """All accesses, with the loops around them from this one inwards."""
        for access in self.accesses:
            yield access, (self,)
        for level in self.inner:
            for access, around in level.walk():
                yield access, (self, *around)


def fetched(level: Level, capacity: int) -> float:
    """Bytes that one run of a loop moves into and out of a cache of `capacity` bytes."""
    if fits(level, capacity) or sum(_distinct(level, rounds=False).values()) <= capacity:
        return _moved(level)
    direct = sum(access.bytes * max(1, access.writes) for access in level.accesses)
    return level.rounds * (direct + sum(fetched(inner, capacity) for inner in level.inner))


def fits(level: Level, capacity: int) -> bool:
    """Whether all that a loop touches stays in a cache of `capacity` bytes."""
    return sum(_distinct(level, rounds=True).values()) <= capacity


def _moved(level: Level) -> float:
    """Bytes of one run of a loop, each moved once; what is loaded too is read just once."""
    loaded = _distinct(level, rounds=True, writes=(0,))
    total = sum(loaded.values())
    for writes in (1, 2):
        stored = _distinct(level, rounds=True, writes=(writes,))
        total += sum(n * (1 if root in loaded else writes) for root, n in stored.items())
    return total


def _distinct(
    level: Level, *, rounds: bool, writes: tuple[int, ...] = (0, 1, 2)
) -> dict[SSAValue, float]:
    """Distinct bytes of each memref that one run of a loop touches, or one round of it."""
    found: defaultdict[SSAValue, float] = defaultdict(float)
    for access, around in level.walk():
        if access.writes in writes:
            counted = around if rounds else around[1:]
            moved = (max(1.0, one.rounds) for one in counted if one.loop in access.moves)
            found[access.root] += access.bytes * prod(moved)
    return {root: min(count, value_bytes(root)) for root, count in found.items()}
