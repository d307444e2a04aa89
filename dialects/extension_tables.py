"""What extensions add to the compiler, and which of them are active.

An extension is a set of entries (`lamina.extend` fills them in). While it is active, each part of
the compiler that has a table of its own asks here first, by `extended(table, name)`. Active are, in
this order, what is installed (entry points of `GROUPS`), what was activated for the process, and
the scopes around the code that runs, the innermost last. Scopes are those of a `ContextVar`: other
threads do not see them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from xdsl.ir import Operation

from lamina.dialects.errors import InputError
from lamina.dialects.extension_entries import (
    EDGES,
    LAYERS,
    OWN_DIALECTS,
    Entries,
    Entry,
    Table,
    place_in,
    short_name,
)

GROUPS = ("lamina.extensions", "xdsl.universe")
"""Entry points that are extensions: what `lamina.extend` gives, and xDSL's universes."""

SWITCH = "LAMINA_EXTENSIONS"
"""Environment variable: names of the entry points that are used, with commas; all if unset."""


class _State:
    """What the process has found and activated."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.found = False
        self.is_finding = False
        self.fault: str | None = None
        self.process: tuple[Entries, ...] = ()
        self.merged: tuple[object, dict[tuple[Table, str], Entry]] = ((), {})


_state = _State()
_scopes: ContextVar[tuple[Entries, ...]] = ContextVar("lamina_extensions", default=())

F = TypeVar("F", bound=Callable[..., Any])


def active() -> tuple[Entries, ...]:
    """The extensions in use here, the one that is asked first last.

    Raises InputError if an installed one cannot be used.
    """
    if not _state.found:
        _find()
    scopes = _scopes.get()
    return _state.process + scopes if scopes else _state.process


def extended(table: Table, name: str) -> Entry | None:
    """The entry that active extensions have under a name, or None."""
    given = active()
    return _merged(given).get((table, short_name(table, name))) if given else None


def extended_names(table: Table) -> dict[str, Entry]:
    """All entries of a table, by name."""
    given = active()
    found = _merged(given) if given else {}
    return {name: entry for (kind, name), entry in found.items() if kind == table}


def _merged(given: tuple[Entries, ...]) -> dict[tuple[Table, str], Entry]:
    key = given, tuple(len(extension.entries) for extension in given)  # none is ever removed
    known, found = _state.merged
    if known != key:
        found = {}
        for extension in given:
            found.update(extension.entries)
        _state.merged = key, found
    return found


def goes_down(name: str, layer: str) -> bool:
    """Whether an op of that name may stand at a layer, as an extension lowers it from there on."""
    entry = extended("lowering", name)
    return entry is not None and LAYERS.index(layer) <= LAYERS.index(EDGES[entry.to])


# Scopes


def enter(extension: Entries) -> None:
    """Begins a scope. Raises InputError for what the extension would replace without leave."""
    _admit(extension, active())
    _scopes.set((*_scopes.get(), extension))


def leave(extension: Entries) -> None:
    """Ends the innermost scope of an extension."""
    scopes = list(_scopes.get())
    for place in reversed(range(len(scopes))):
        if scopes[place] is extension:
            del scopes[place]
            break
    _scopes.set(tuple(scopes))


def activate(extension: Entries) -> None:
    """Has all threads of the process see an extension, from now on; once only."""
    with _state.lock:
        given = active()
        if extension not in _state.process:
            _admit(extension, given)
            _state.process = (*_state.process, extension)


def deactivate(extension: Entries) -> None:
    """Ends what `activate` began."""
    with _state.lock:
        _state.process = tuple(other for other in _state.process if other is not extension)


@contextmanager
def within(scopes: tuple[Entries, ...]) -> Iterator[None]:
    """Code that runs as if in these scopes, and no others."""
    token = _scopes.set(tuple(one for one in scopes if one not in _state.process))
    try:
        yield
    finally:
        _scopes.reset(token)


def kept_scopes(function: F) -> F:
    """A function that runs with the extensions that are active now, whenever it is called."""
    scopes = _scopes.get()
    if not scopes:
        return function

    def run(*args: Any, **keywords: Any) -> Any:
        with within(scopes):
            return function(*args, **keywords)

    made: Any = run
    return made


def _admit(extension: Entries, given: Collection[Entries]) -> None:
    if extension in given:
        return
    for other in given:
        if other.name == extension.name:
            where = f"{extension.place} and {other.place}"
            raise InputError(f"extension '{other.name}': two are active, of {where}")
        for key, entry in extension.entries.items():
            before = other.entries.get(key)
            if before is not None and not entry.override:
                refuse_second(entry, *key, str(before))
    extension.check()


def refuse_second(entry: Entry, table: Table, name: str, before: str) -> None:
    """Raises the InputError for an entry that replaces another, whose owner is `before`."""
    can = "and stays" if table == "op" else "override=True replaces it"
    raise entry.error(f"the {table} of '{name}' is there already, of {before}; {can}")


# What is installed


def _find() -> None:
    """Loads the entry points, once a process; threads wait for each other."""
    with _state.lock:
        if _state.found or _state.is_finding:  # an extension that asks while it is loaded
            return
        if _state.fault is not None:
            raise InputError(_state.fault)
        _state.is_finding = True
        try:
            for extension in _installed():
                _admit(extension, _state.process)
                _state.process = (*_state.process, extension)
            _state.found = True
        except InputError as error:
            _state.fault = str(error)
            _state.process = ()
            raise
        finally:
            _state.is_finding = False


def _installed() -> Iterator[Entries]:
    chosen = os.environ.get(SWITCH)
    if chosen is not None and not chosen.strip():
        return
    from importlib.metadata import entry_points

    names = None if chosen is None else {name.strip() for name in chosen.split(",")}
    for group in GROUPS:
        for point in sorted(entry_points(group=group)):
            if point.value.startswith(("xdsl.", "lamina.")):
                continue
            if names is None or point.name in names:
                yield _loaded(point)


def _loaded(point: Any) -> Entries:
    said = f"extension '{point.name}' (entry point {point.value})"
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split())
        inside = place_in(error, "")
        raise InputError(
            f"{said} cannot be imported: {inside}: {type(error).__name__}: {reason}; "
            f"{SWITCH} says which installed extensions are used"
        ) from error
    if isinstance(found, Entries):
        return found
    dialects = getattr(found, "all_dialects", None)
    if not isinstance(dialects, Mapping):
        raise InputError(f"{said} is a {type(found).__name__}, and not what lamina.extend gives")
    made = Entries(point.name, place=point.value)
    known = known_dialects()
    for table, entries in (("dialect", dialects), ("pass", getattr(found, "all_passes", {}))):
        for name, factory in entries.items():
            if table == "pass" or name not in known:
                made.add(table, name, factory)  # pyright: ignore[reportArgumentType]
    return made


def known_dialects() -> frozenset[str]:
    """Names of the dialects of Lamina and of xDSL."""
    from xdsl.dialects import get_all_dialects

    return OWN_DIALECTS | frozenset(get_all_dialects())


# Keys of caches


def touches(extension: Entries, ops: Collection[Operation]) -> bool:
    """Whether code of a program with these ops may depend on an extension."""
    if extension.changes_all:
        return True
    dialects, functions = extension.dialects, extension.names("vector function")
    return any(
        op.name.partition(".")[0] in dialects
        or (
            op.name == "loop.special"
            and getattr(op.properties.get("function"), "data", None) in functions
        )
        for op in ops
    )


def key_of(ops: Collection[Operation]) -> str | None:
    """What code of a program with these ops depends on; None where nothing tells it from other."""
    given = active()
    if not any(touches(extension, ops) for extension in given):
        return ""
    keys = [extension.key() for extension in given]
    return None if None in keys else " ".join(key for key in keys if key is not None)


def key_of_pass(kind: type) -> str | None:
    """The key of the active extension whose passes a class is among; None if there is no key."""
    for extension in reversed(active()):
        entries = (extension.entries["pass", name] for name in extension.names("pass"))
        if any(entry.value() is kind for entry in entries):
            return extension.key()
    return None
