"""Which versions of a program stand for which sizes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from lamina.dialects.errors import UnsupportedError
from lamina.dialects.logs import topic
from lamina.dialects.sizes import MOST_SIZE, SizeName

VERSION_POLICIES = ("auto", "exact", "padded")
"""What `lamina.compile(..., versions=...)` takes: see there."""

VARYING = "varying"
"""The policy of what is never called with one set of sizes only: no code is for the first alone."""

MOST_EXACT = 64
"""Versions for one set of sizes that are kept; then the oldest goes."""

MOST_SETS = 4096
"""Sets of sizes of which it is remembered what version stands for them."""


GROWTH_BITS = 2
"""Padded versions are for sizes up to powers of `2 ** GROWTH_BITS`. Of a decoder of 4 layers, 256
wide, one for 1x512 took 1.23 of the time of code for 1x66 alone, one for 1x128 took 1.18 (a Zen 5):
loops end at live rows, so that few versions cost little."""


LEAST_BOUND = 64
"""Positions for which versions have room at least, where `ROOMY_ELEMENTS` are not exceeded.
`generate()` of GPT-2 and Llama takes 3 compilations for 40 tokens so, and 4 and 5 without."""

ROOMY_ELEMENTS = 1 << 18
"""Of padded arguments, which are copied in a call: a megabyte of floats, 10 to 16 us on a Zen 5."""


def bound_of(value: int, name: SizeName, least: int = 1) -> int:
    """How many elements a padded version has for a size: the next power of four, in its range."""
    bits = -(-(max(value, least) - 1).bit_length() // GROWTH_BITS) * GROWTH_BITS
    bound = 1 << bits
    return min(bound, MOST_SIZE if name.range.most is None else name.range.most)


@dataclass
class Version:
    """Code for some sizes: for exactly these, or for all up to them.

    `compiled` runs it, `calls` counts its calls.
    """

    compiled: Any
    sizes: Mapping[str, int]
    is_exact: bool
    calls: int = 0

    def __str__(self) -> str:
        return f"{self.of}: {self.calls} calls"

    @property
    def of(self) -> str:
        """The sizes that it is for."""
        sign = "=" if self.is_exact else "<="
        return ", ".join(f"{name} {sign} {size}" for name, size in self.sizes.items())


@dataclass
class Sizes(Sequence[Version]):
    """The sizes that a program leaves open, and the versions that calls have made of it so far.

    `names` has the range of each size as text. `reason` says why no version is for a range of
    sizes, if none can be. A program without open sizes has neither names nor versions.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    versions: list[Version] = field(default_factory=list["Version"])
    reason: str | None = None

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
            lines.append(f"  each set of sizes is compiled: {self.reason}")
        return "\n".join(lines)


Make = Callable[[Mapping[str, int]], Any]
"""Compiles a version for sizes by their names."""


class Versions:
    """Chooses the version for the sizes of a call, and has it made if it is not there.

    `exact` makes code for one set of sizes, `padded` for all up to some; the latter raises
    UnsupportedError for a program that cannot be padded. `policy` is one of `VERSION_POLICIES`, or
    `VARYING`: as "auto", but that no code is for the first sizes alone. Numbers that are no sizes
    of an argument may stand among the sizes of a set: they have no name in `names`. `elements`
    counts those of arguments of given sizes.
    """

    def __init__(
        self,
        names: Mapping[str, SizeName],
        exact: Make,
        padded: Make,
        policy: str,
        elements: Callable[[Mapping[str, int]], int],
    ) -> None:
        self.names, self.policy = names, policy
        self._elements = elements
        self.sizes = Sizes({text: str(name.range) for text, name in names.items()})
        self._make_exact, self._make_padded = exact, padded
        self._found: dict[tuple[int, ...], Version] = {}
        self._padded: dict[tuple[int, ...], Version] = {}
        self._lock = RLock()

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
                found = self._add(self._make_exact(sizes), sizes, is_exact=True)
                self._forget()
                self._found[key] = found
            return found

    def _chosen(self, sizes: Mapping[str, int]) -> Version:
        is_first = self.policy == "auto" and not len(self.sizes)
        if is_first or self.policy == "exact" or self.sizes.reason is not None:
            return self.exact(sizes)
        bounds = self._bounds(sizes)
        key = tuple(bounds.values())
        if key in self._padded:
            return self._padded[key]
        try:
            made = self._make_padded(bounds)
        except UnsupportedError as error:
            if self.policy == "padded":
                raise
            self.sizes.reason = str(error).partition("\n")[0]
            topic("sizes").info("each set of sizes is compiled: %s", self.sizes.reason)
            return self.exact(sizes)
        found = self._padded[key] = self._add(made, bounds, is_exact=False)
        return found

    def _bounds(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Room for more than these sizes; for few more of what takes much memory."""
        for least in (LEAST_BOUND, 1):
            bounds = {n: bound_of(sizes[n], name, least) for n, name in self.names.items()}
            if self._elements({**sizes, **bounds}) <= ROOMY_ELEMENTS:
                break
        return bounds

    def _add(self, made: Any, sizes: Mapping[str, int], *, is_exact: bool) -> Version:
        version = Version(made, dict(sizes), is_exact)
        self.sizes.versions.append(version)
        topic("sizes").info("a version for %s", version.of)
        return version

    def _forget(self) -> None:
        """Lets go of the oldest version for one set of sizes, where there are too many."""
        kept = [version for version in self.sizes if version.is_exact]
        if len(kept) > MOST_EXACT:
            self.sizes.versions.remove(kept[0])
        if len(kept) > MOST_EXACT or len(self._found) > MOST_SETS:
            self._found = {k: v for k, v in self._found.items() if v.is_exact and v is not kept[0]}
