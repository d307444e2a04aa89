"""Which versions of a program stand for which sizes of its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lamina.dialects.sizes import SizeName

if TYPE_CHECKING:
    from lamina.runtime.compiled import Compiled

VERSION_POLICIES = ("auto", "exact", "padded")
"""What `lamina.compile(..., versions=...)` takes: see there."""

MOST_EXACT = 64
"""Versions for one set of sizes that are kept; then the oldest goes."""

MOST_SETS = 4096
"""Sets of sizes of which it is remembered what version stands for them."""


def bound_of(value: int, name: SizeName) -> int:
    """How many elements a padded version has for a size: the next power of two, in its range."""
    bound = 1 << max(value - 1, 0).bit_length()
    return bound if name.range.most is None else min(bound, name.range.most)


@dataclass
class Version:
    """Code for some sizes: for exactly these, or for all up to them.

    `calls` counts its calls.
    """

    compiled: Compiled
    sizes: Mapping[str, int]
    is_exact: bool
    calls: int = 0

    def __str__(self) -> str:
        sign = "=" if self.is_exact else "<="
        sizes = ", ".join(f"{name} {sign} {size}" for name, size in self.sizes.items())
        return f"{sizes}: {self.calls} calls"


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
