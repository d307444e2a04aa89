"""Which versions of a program stand for which sizes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from ctypes import c_int64
from dataclasses import field
from threading import RLock
from typing import Any

from lamina.dialects.errors import InputError, OutOfMemoryError, UnsupportedError
from lamina.dialects.logs import topic
from lamina.dialects.records import mutable_record
from lamina.dialects.sizes import MOST_SIZE, SizeName
from lamina.lowering.choose_padding import LikelyBounds, Padding
from lamina.passes.contracts.size_padding import EXACT, MASKED, ROWS
from lamina.passes.cost.version_sizes import (
    GROWTH_BITS,
    LEAST_GROWING,
    LEAST_MASKED,
    LEAST_ROWS,
    MOST_ELEMENTS,
    ROOMY_ELEMENTS,
    ROOMY_ROW_ELEMENTS,
)
from lamina.runtime.entry import Slot

VERSION_POLICIES = ("auto", "exact", "padded")
"""What `lamina.compile(..., versions=...)` takes: see there."""

VARYING = "varying"
"""The policy of what is never called with one set of sizes only: no code is for the first alone."""

MOST_EXACT = 64
"""Versions for one set of sizes that are kept; then the oldest goes."""

MOST_SETS = 4096
"""Sets of sizes of which it is remembered what version stands for them."""


def bound_of(value: int, name: SizeName, least: int = 1) -> int:
    """How many elements a padded version has for a size: the next power of four, in its range."""
    bound = _next_power(value, least)
    return min(bound, MOST_SIZE if name.range.most is None else name.range.most)


def first_of(value: int, least: int) -> int:
    """The smallest size that has the same bound."""
    power = _next_power(value, least)
    return 0 if power == _next_power(0, least) else (power >> GROWTH_BITS) + 1


def _next_power(value: int, least: int) -> int:
    return 1 << -(-(max(value, least) - 1).bit_length() // GROWTH_BITS) * GROWTH_BITS


def compact_inputs(slots: Sequence[Slot]) -> frozenset[int]:
    """Which of the inputs of a program lie in memory row-major over the extents of a call."""
    return frozenset(n for n, slot in enumerate(slots) if slot.extents is not None)


@mutable_record
class Version:
    """Code for some sizes: for exactly these, or for all from `least` up to them but those of
    `numbers`.

    `compiled` runs it. Native code counts its calls in `native_calls`.
    """

    compiled: Any
    sizes: Mapping[str, int]
    is_exact: bool
    numbers: Collection[str] = ()
    least: Mapping[str, int] = field(default_factory=dict[str, int])
    native_calls: c_int64 = field(default_factory=c_int64)

    @property
    def calls(self) -> int:
        """How many calls there were."""
        return self.native_calls.value

    def count(self) -> None:
        """Counts a call that was not native."""
        self.native_calls.value += 1

    def __str__(self) -> str:
        return f"{self.of}: {self.calls} calls"

    def takes(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is right for sizes, if not made for them."""
        single = self.sizes if self.is_exact else self.numbers
        return all(
            size == self.sizes[name] if name in single else size <= self.sizes[name]
            for name, size in sizes.items()
        )

    def has_room_for(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is what was made for sizes like these."""
        return self.takes(sizes) and all(sizes[name] >= n for name, n in self.least.items())

    @property
    def compact(self) -> Collection[int]:
        """Positions of the inputs that lie in memory row-major over the extents of a call."""
        return compact_inputs(self.compiled.inputs)

    @property
    def of(self) -> str:
        """The sizes that it is for."""
        single = self.sizes if self.is_exact else self.numbers
        return ", ".join(f"{n} {'=' if n in single else '<='} {s}" for n, s in self.sizes.items())


@mutable_record
class Sizes(Sequence[Version]):
    """The sizes that a program leaves open, and the versions that calls have made of it so far.

    `names` has the range of each size as text. `reason` says why versions are for single numbers
    of some sizes, or of all. A program without open sizes has neither names nor versions.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    versions: list[Version] = field(default_factory=list["Version"])
    reason: str | None = None
    exact: Collection[str] = ()

    @property
    def _alone(self) -> str:
        some = 0 < len(self.exact) < len(self.names)
        return f"each {', '.join(self.exact)}" if some else "each set of sizes"

    def __getitem__(self, index: int) -> Version:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.versions[index]

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[Version]:
        return iter(self.versions)

    def __str__(self) -> str:
        if not self.names:
            return "all sizes are known"
        lines = [f"{name} in {held}" for name, held in self.names.items()]
        lines += [f"  {version}" for version in self.versions]
        if self.reason is not None:
            lines.append(f"  {self._alone} is compiled: {self.reason}")
        return "\n".join(lines)


_EQUAL_ROOM = [1 << bits for bits in range(LEAST_ROWS.bit_length() - 1, -1, -GROWTH_BITS)]

_ROOM = sorted(
    {(room, min(room, LEAST_MASKED)) for room in _EQUAL_ROOM} | {(LEAST_MASKED // 4, LEAST_MASKED)},
    reverse=True,
)
"""How many rows, and how many positions that are masked, a version may have room for at least, the
most first: batches of images give way before the images do."""

Make = Callable[[Mapping[str, int]], Any]
"""Compiles a version for sizes by their names."""

MakePadded = Callable[[Mapping[str, int], Collection[str], Padding], Any]
"""Compiles a version for all sizes up to some, but single numbers of certain ones."""


class Versions:
    """Chooses the version for the sizes of a call, and has it made if it is not there.

    `exact` makes code for one set of sizes, `padded` for all up to some; the latter raises
    UnsupportedError for a program that cannot be padded, and `padding` says what of it can be.
    `policy` is one of `VERSION_POLICIES`, or `VARYING`: as "auto", but that no code is for the
    first sizes alone. Numbers that are no sizes of an argument may stand among the sizes of a set:
    they have no name in `names`. `elements` counts those of arguments of given sizes, but for
    arguments with some that grow: these are mostly read as they lie, not copied. `steady` are
    sizes that rarely vary: with `VARYING`, versions are for the one number of each until another
    comes.
    """

    def __init__(
        self,
        names: Mapping[str, SizeName],
        exact: Make,
        padded: MakePadded,
        padding: Callable[[LikelyBounds], Padding],
        policy: str,
        elements: Callable[[Mapping[str, int], Collection[str]], int],
        steady: Collection[str] = (),
    ) -> None:
        self.names, self.policy = names, policy
        self._elements = elements
        self.sizes = Sizes({text: str(name.range) for text, name in names.items()})
        self._make_exact, self._make_padded = exact, padded
        self._ask_padding = padding
        self._chosen_padding: Padding | None = None
        self._found: dict[tuple[int, ...], Version] = {}
        self._padded: dict[tuple[object, ...], Version] = {}
        self._steady: dict[str, int | None] = dict.fromkeys(steady if policy == VARYING else ())
        """The numbers of sizes that have had one so far; None before the first call."""
        self._lock = RLock()

    def known(self, sizes: tuple[int, ...]) -> Version | None:
        """What `find` has given for these sizes, in the order of names."""
        return self._found.get(sizes)

    def find(self, sizes: Mapping[str, int]) -> Version:
        """The version for a call; the order of names is the same in all calls."""
        key = tuple(sizes.values())
        found = self._found.get(key)
        if found is None:
            with self._lock:
                found = self._found[key] = self._chosen(sizes)
        return found

    def exact(self, sizes: Mapping[str, int]) -> Version:
        """The version for exactly these sizes."""
        key = tuple(sizes.values())
        with self._lock:
            found = self._found.get(key)
            if found is None or not found.is_exact:
                found = self._add(Version(self._make_exact(sizes), dict(sizes), is_exact=True))
                self._forget()
                self._found[key] = found
            return found

    def _chosen(self, sizes: Mapping[str, int]) -> Version:
        is_first = self.policy == "auto" and not len(self.sizes)
        if is_first or self.policy == "exact" or self._is_each_exact:
            return self.exact(sizes)
        try:
            return self._padded_version(sizes)
        except UnsupportedError as error:
            if self.policy == "padded":
                raise
            self._alone(self.names, str(error).partition("\n")[0])
            return self.exact(sizes)
        except OutOfMemoryError:
            if self.policy == "padded":
                raise
            return self.exact(sizes)  # takes memory for these sizes, and no room for more

    @property
    def _is_each_exact(self) -> bool:
        return self.sizes.reason is not None and len(self.sizes.exact) == len(self.names)

    def _padded_version(self, sizes: Mapping[str, int]) -> Version:
        padding = self._padding(sizes)
        exact = [name for name in self.names if padding.ways.get(name) == EXACT]
        if self._is_each_exact:
            return self.exact(sizes)
        named = {name: sizes[name] for name in self.names}
        for version in self._padded.values():
            if version.has_room_for(named):
                return version
        self._steady = {n: sizes[n] for n, held in self._steady.items() if held in (None, sizes[n])}
        steady = [name for name in self._steady if name not in exact]
        try:
            return self._made(sizes, padding, [*exact, *steady])
        except UnsupportedError:
            if not steady:
                raise
            self._steady.clear()  # the padding was tried without such numbers
            return self._made(sizes, padding, exact)

    def _made(self, sizes: Mapping[str, int], padding: Padding, numbers: Sequence[str]) -> Version:
        """The version of which these sizes are numbers, and others padded, made if need be."""
        try:
            bounds, from_ = self._bounds(sizes, padding, numbers)
            key = (tuple(bounds.values()), *numbers)
            if key in self._padded:
                return self._padded[key]
            made = self._make_padded(bounds, numbers, padding)
        except InputError as error:
            # The padding was tried with other numbers for what is exact, and other bounds.
            raise UnsupportedError("room for more", str(error).partition("\n")[0]) from None
        version = Version(made, bounds, is_exact=False, numbers=numbers, least=from_)
        self._padded[key] = self._add(version)
        self._forget()
        return version

    def _padding(self, sizes: Mapping[str, int]) -> Padding:
        if self._chosen_padding is None:
            chosen = self._ask_padding(lambda likely: self._bounds(sizes, likely, ())[0])
            exact = [name for name in self.names if chosen.ways.get(name) == EXACT]
            if exact and self.policy == "padded":
                raise chosen.error or UnsupportedError("versions='padded'", f"{chosen.reason}")
            if exact:
                self._alone(exact, chosen.reason)
            self._chosen_padding = chosen
        return self._chosen_padding

    def _alone(self, names: Collection[str], reason: str | None) -> None:
        self.sizes.exact, self.sizes.reason = tuple(names), reason
        topic("sizes").info("each set of %s is compiled: %s", ", ".join(names), reason)

    def _bounds(
        self, sizes: Mapping[str, int], padding: Padding, numbers: Collection[str]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Room for more than these sizes: for many more where only rows are more, and for few more
        of what takes much memory. Also from what sizes on calls get this room: for what is
        between, the same is chosen, since it follows from powers of four."""
        ways = {text: padding.ways.get(text, MASKED) for text in self.names}
        ways |= dict.fromkeys(numbers, EXACT)
        growing = [text for text in padding.growing if ways.get(text) == MASKED]
        most = ROOMY_ROW_ELEMENTS if ROWS in ways.values() else ROOMY_ELEMENTS
        bounds: dict[str, int] = {}
        least: dict[str, int] = {}
        for rows, masked in _ROOM:
            by_way = {ROWS: rows, MASKED: masked, EXACT: 1}
            least = {text: by_way[way] for text, way in ways.items()}
            if masked == LEAST_MASKED:
                least |= dict.fromkeys(growing, LEAST_GROWING)
            bounds = {
                text: sizes[text]
                if way == EXACT
                else bound_of(sizes[text], self.names[text], least[text])
                for text, way in ways.items()
            }
            given = self._elements({**sizes, **bounds}, padding.growing)
            if given <= most and padding.largest(bounds) <= MOST_ELEMENTS:
                break
        from_ = {text: first_of(sizes[text], least[text]) for text in ways}
        return bounds, from_

    def _add(self, version: Version) -> Version:
        self.sizes.versions.append(version)
        topic("sizes").info("a version for %s", version.of)
        return version

    def _forget(self) -> None:
        """Lets go of the oldest version for single numbers, where there are too many."""
        kept = [version for version in self.sizes if version.is_exact or version.numbers]
        gone = kept[0] if len(kept) > MOST_EXACT else None
        if gone is not None:
            self.sizes.versions.remove(gone)
            self._padded = {k: v for k, v in self._padded.items() if v is not gone}
        if gone is not None or len(self._found) > MOST_SETS:
            self._found = {k: v for k, v in self._found.items() if v.is_exact and v is not gone}
