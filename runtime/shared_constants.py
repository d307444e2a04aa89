"""Constants that the entries of one program share: packed weights, folded ones, literals.

What `@setup` prepares is a function of constants. Entries that prepare the same of the same arrays
read the same memory, which is made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lamina.dialects.records import record
from lamina.runtime.buffers import AlignedMemory, MemoryPart

if TYPE_CHECKING:
    from lamina.runtime.literals import Literals


Memory = AlignedMemory | MemoryPart


@record
class Recipe:
    """How a prepared constant is made: a digest of the ops that do, and what they begin with.

    The digest numbers `constants` in the order of their first use, and does not have their names.
    """

    digest: str
    constants: tuple[str, ...]


class Shared(Protocol):
    """What others have made of constants; `SharedConstants` knows these by the arrays they are."""

    def find(self, recipe: Recipe | None, constants: Mapping[str, Any]) -> Memory | None: ...

    def keep(self, recipe: Recipe | None, constants: Mapping[str, Any], memory: Memory) -> None: ...


class SharedConstants:
    """What entries of a program that are compiled together have made of its constants."""

    def __init__(self) -> None:
        self.literals: Literals = {}
        """Arrays of literals, by their values."""
        self._made: dict[tuple[str, *tuple[int, ...]], tuple[list[Any], Memory]] = {}

    def find(self, recipe: Recipe | None, constants: Mapping[str, Any]) -> Memory | None:
        """The memory of what a recipe makes of these constants, if an entry has it."""
        if recipe is None or not all(name in constants for name in recipe.constants):
            return None
        found = self._made.get(_key(recipe, constants))
        return None if found is None else found[1]

    def keep(self, recipe: Recipe | None, constants: Mapping[str, Any], memory: Memory) -> None:
        """Notes what an entry has made, for those that come."""
        if recipe is not None:
            arrays = [constants[name] for name in recipe.constants]  # a key has their identities
            self._made[_key(recipe, constants)] = arrays, memory


def _key(recipe: Recipe, constants: Mapping[str, Any]) -> tuple[str, *tuple[int, ...]]:
    return recipe.digest, *(id(constants[name]) for name in recipe.constants)
