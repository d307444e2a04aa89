"""Programs with open sizes that come from a file, with the versions that were saved of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import NoReturn

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import parse_module
from lamina.runtime.call_sizes import CallSizes, SizeArgumentError
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import function_named
from lamina.runtime.saved import LoadedSizes, LoadedVersion
from lamina.runtime.size_versions import Sizes, Version, compact_inputs
from lamina.runtime.sized_calls import Padded, SizedCalls


class LoadedSizedProgram(SizedCalls):
    """A program with open sizes that runs the versions which its file has, and makes no others."""

    def __init__(self, loaded: LoadedSizes, path: str, render: Callable[[str], str]) -> None:
        main = function_named(
            parse_module(Context(), loaded.declaration, path, verify=False), "main"
        )
        assert main is not None
        super().__init__(main, (), loaded.structure, render, runs_here=True)
        self._says_more = loaded.says_more
        made = [self._version(version) for version in loaded.versions]
        self._versions = SavedVersions(self._call_sizes, made, path)
        self._bind_native()

    def _version(self, saved: LoadedVersion) -> Version:
        padded = Padded(self, saved.sizes, saved.numbers)
        structure = self.structure if saved.is_exact else padded
        compiled = Compiled(saved.program, saved.constants, structure, self._render)
        padded.compact = compact_inputs(compiled.inputs)
        return Version(compiled, saved.sizes, saved.is_exact, saved.numbers, saved.least)


class SavedVersions:
    """Finds the version for sizes among those of a file."""

    def __init__(self, calls: CallSizes, versions: list[Version], path: str) -> None:
        self.sizes = Sizes({text: str(name.range) for text, name in calls.names.items()}, versions)
        self._calls, self._path = calls, path

    def find(self, sizes: Mapping[str, int]) -> Version:
        """The smallest that takes these sizes. Raises SizeArgumentError where none does."""
        fitting = [version for version in self.sizes if version.takes(sizes)]
        if not fitting:
            raise SizeArgumentError(f"{self._blamed(sizes)}: {self._lack(sizes)}")
        return min(fitting, key=lambda one: (not one.is_exact, prod(one.sizes.values())))

    def exact(self, sizes: Mapping[str, int]) -> Version:
        """The one for exactly these sizes. Raises InputError where there is none."""
        found = next((one for one in self.sizes if one.is_exact and one.sizes == sizes), None)
        return found or self._refuse(sizes)

    def _blamed(self, sizes: Mapping[str, int]) -> str:
        """The first argument with a size that no version takes, else with one of those that none
        takes together."""
        alone = [n for n in sizes if not any(v.takes({n: sizes[n]}) for v in self.sizes)]
        name = next(iter(alone or sizes))
        return f"{self._calls.place_of(name)} makes '{name}' {sizes[name]}"

    def _refuse(self, sizes: Mapping[str, int]) -> NoReturn:
        raise InputError(self._lack(sizes))

    def _lack(self, sizes: Mapping[str, int]) -> str:
        asked = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        held = "; ".join(version.of for version in self.sizes)
        return (
            f"'{self._path}' has no version for {asked}, but those for {held}; save the program "
            "with sizes=[...] that are called"
        )
