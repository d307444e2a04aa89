"""Whether the compiler in this process is the one that its sources say.

Code depends on the program, the target and the compiler. Anybody may change the compiler in a
process: replace a lowering, a pass, a cost, an emitter. What such a compiler makes is not for other
processes, and what they made is not for it. So each module of the compiler is noted as it is when
it has just been imported, each registration when it is made, and compared when somebody asks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from operator import is_
from types import GenericAlias, ModuleType, UnionType
from typing import Any

PREFIXES = (
    "lamina.dialects.",
    "lamina.codegen.",
    "lamina.passes.",
    "lamina.lowering.",
    "lamina.runtime.compile",
    "lamina.runtime.layers",
    "lamina.runtime.lowering_options",
    "lamina.runtime.kernels",
)
"""Modules that code depends on, by the beginnings of their names."""

_LEFT_OUT = ("__", "_abc")
"""How names begin that Python itself changes."""

_MOST_ENTRIES = 1000
"""Tables of more entries (of op names) are left out: to compare them takes longer than to hash a
program."""

Noted = tuple[str, Mapping[str, Any], tuple[str, ...], tuple[Any, ...]]
"""What a namespace is called, itself, and names and values as they were."""

_noted: dict[str, list[Noted]] = {}
_registered: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}


class _Noting(SourceFileLoader):
    """A loader that notes what a module holds."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _noted[module.__name__] = list(_namespaces(module))


class _Finder(MetaPathFinder):
    """Finds the compiler's own modules as Python does, and has them noted."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIXES):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Noting(spec.loader.name, spec.loader.path)
        return spec


def begin() -> None:
    """Notes all modules of the compiler that are imported from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def register(table: dict[str, Any], name: str, entry: Any) -> None:
    """Puts an entry into a table of the compiler that grows after its module is imported.

    An entry that is none of Lamina's own is a modification.
    """
    table[name] = entry
    function = entry.func if isinstance(entry, partial) else entry
    if str(getattr(function, "__module__", "")).startswith("lamina."):
        _registered.setdefault(id(table), (table, {}))[1][name] = entry


def is_new(table: Mapping[str, Any], name: str, entry: Any) -> bool:
    """Whether a table lacks a name, or has what the same line said before.

    The import of a module that is interrupted, as by Ctrl-C, begins again at its first line.
    """
    return name not in table or _said_at(table[name]) == _said_at(entry)


def _said_at(entry: Any) -> tuple[Any, ...]:
    given = (entry.args, entry.keywords) if isinstance(entry, partial) else ()
    function = entry.func if isinstance(entry, partial) else entry
    return function.__code__.co_filename, function.__code__.co_firstlineno, given


def modification() -> str | None:
    """The name of something in the compiler that is not what was imported, or None."""
    for spaces in list(_noted.values()):
        for title, space, names, values in spaces:
            if not all(map(is_, map(space.get, names), values)):
                pairs = zip(names, values, strict=True)
                return (
                    f"{title}.{next(name for name, value in pairs if space.get(name) is not value)}"
                )
    for table, entries in list(_registered.values()):
        same = all(map(is_, map(table.get, entries), entries.values()))
        if not same or len(table) != len(entries):
            names = [*table, *entries]
            changed = next(name for name in names if table.get(name) is not entries.get(name))
            return f"the entry '{changed}' of a table of lowerings"
    return None


def _namespaces(module: ModuleType) -> Iterator[Noted]:
    """The module, its classes and its tables."""
    own = module.__name__
    yield _note(own, vars(module))
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == own:
            yield _note(f"{own}.{name}", vars(value))
        elif isinstance(value, dict) and len(value) <= _MOST_ENTRIES and name[:2] != "__":
            yield _note(f"{own}.{name}", value)


def _note(title: str, space: Mapping[Any, Any]) -> Noted:
    own = space.get("__name__")
    kept = [
        (name, value)
        for name, value in space.items()
        if not (isinstance(name, str) and name.startswith(_LEFT_OUT))
        and not isinstance(value, ModuleType | UnionType | GenericAlias)
        and (own is None or not isinstance(value, type) or value.__module__ == own)
    ]
    return title, space, tuple(n for n, _ in kept), tuple(v for _, v in kept)
