"""What every front end gives: a module, what is bound to its arguments, and how it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError
from lamina.dialects.records import record

if TYPE_CHECKING:
    from lamina.runtime.arguments import Structure
    from lamina.runtime.random_state import SeedSource


@record
class Bindings:
    """What a caller fixes before a program is read: arrays by name, and sizes by their names."""

    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    def check(self) -> None:
        """Raises InputError for what is no size."""
        for name, size in self.sizes.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise InputError(f"sizes: '{name}' is {size!r}; a size is an integer from 0 on")


@record
class SourceProgram:
    """A program as its front end reads it.

    `constants` are arrays or tensors by the `lamina.name` of arguments of kind parameter, buffer or
    constant. `structure` nests the arguments and results of a call; without one they are flat.
    `seeds` gives the seeds of random ops. `taken` are the names that the front end has bound
    already of what the caller binds.
    """

    module: ModuleOp
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    structure: Structure | None = None
    seeds: SeedSource | None = None
    taken: frozenset[str] = frozenset()

    def bound(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is bound to arguments where the caller binds `given`."""
        rest = {name: value for name, value in given.items() if name not in self.taken}
        return {**self.constants, **rest}
