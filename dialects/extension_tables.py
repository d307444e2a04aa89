"""What extensions add to the compiler, and which of them are active.

An extension is a set of entries (`lamina.extend` fills them in). While it is active, each part of
the compiler that has a table of its own asks here first, by `extended(table, name)`. Active are, in
this order, what is installed (entry points of `GROUPS`), what was activated for the process, and
the scopes around the code that runs, the innermost last. Scopes are those of a `ContextVar`: other
threads do not see them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from xdsl.ir import Operation

from lamina.dialects.errors import InputError

GROUPS = ("lamina.extensions", "xdsl.universe")
"""Entry points that are extensions: what `lamina.extend` gives, and xDSL's universes."""

SWITCH = "LAMINA_EXTENSIONS"
"""Environment variable: names of the entry points that are used, with commas; all if unset."""

Table = Literal[
    "dialect",
    "op",
    "result rule",
    "lowering",
    "interpreter",
    "vector function",
    "extern kernel",
    "target",
    "importer",
    "pass",
]
"""What an extension can add to; entries are found by the name of the op, kernel, ... that they are
about."""

BY_OP: tuple[Table, ...] = ("result rule", "lowering", "interpreter")
"""Tables whose entries are about an op that is known elsewhere."""

_CHANGING: tuple[Table, ...] = ("op", "result rule", "lowering")
"""Tables of which the code of a program depends, beside what it names itself."""

LAYERS = ("aten", "functional", "core_aten", "prims", "loop")
"""The tensor layers, top first."""

EDGES: dict[str, str] = {"core_aten": "functional", "prims": "core_aten", "loop": "prims"}
"""Layer to which ops are lowered, and the lowest at which they stand until then."""

OWN_DIALECTS = frozenset({"aten", "core_aten", "prims", "loop", "control"})
"""Dialects of Lamina's own."""

_ROOT = str(Path(__file__).resolve().parents[1]) + os.sep


@dataclass(frozen=True)
class Entry:
    """One thing that an extension adds: whose it is, and where it was said."""

    value: Any
    extension: str
    place: str
    override: bool = False
    to: str = ""
    """Of a lowering: the layer that it goes to."""
    operands: int = 0
    """Of a vector function: how many it takes."""

    def __str__(self) -> str:
        return f"extension '{self.extension}' ({self.place})"

    def error(self, said: str, cause: BaseException | None = None) -> InputError:
        """The error, one line, that names the extension and where in its file `cause` arose."""
        if cause is None:
            return InputError(f"{self}: {said}")
        inside = place_in(cause, self.place.rpartition(":")[0])
        reason = " ".join(str(cause).split()) or "no more is said"
        what = f"{type(cause).__name__}: {reason}"
        return InputError(f"extension '{self.extension}' ({inside or self.place}): {said} {what}")


@dataclass(eq=False)
class Entries:
    """What one extension adds. `version` is its author's word for which code it makes."""

    name: str
    version: str | None = None
    place: str = ""
    entries: dict[tuple[Table, str], Entry] = field(default_factory=dict[tuple[Table, str], Entry])

    def add(
        self,
        table: Table,
        name: str,
        value: Any,
        *,
        override: bool = False,
        to: str = "",
        operands: int = 0,
    ) -> None:
        """Puts in an entry. Raises InputError if the extension has one of that name."""
        made = Entry(value, self.name, caller(), override, to, operands)
        name = _short(table, name)
        before = self.entries.get((table, name))
        if before is not None:
            raise made.error(
                f"the {table} of '{name}' is registered twice, first in {before.place}"
            )
        self.entries[table, name] = made
        _state.revision += 1

    def check(self) -> None:
        """Raises InputError for an entry that would replace one of Lamina's, without leave."""

    @property
    def changes_all(self) -> bool:
        """Whether code of programs may be another that name none of its ops."""
        return any(
            entry.override
            if table == "vector function"
            else table in _CHANGING and name.partition(".")[0] in OWN_DIALECTS
            for (table, name), entry in self.entries.items()
        )

    @property
    def dialects(self) -> set[str]:
        """Dialects that its ops are of."""
        found = {name.partition(".")[0] for table, name in self.entries if table in _CHANGING}
        return found | self.names("dialect")

    def names(self, table: Table) -> set[str]:
        """What it adds to a table."""
        return {name for kind, name in self.entries if kind == table}

    def key(self) -> str | None:
        """Text that differs between extensions whose code differs; None where nothing tells.

        That is its version, with what it has and what its files hold.
        """
        if self.version is None:
            return None
        digest = hashlib.sha256(f"{self.name} {self.version}".encode())
        for (table, name), entry in sorted(self.entries.items()):
            digest.update(f"{table} {name} {entry.to} {entry.override}\n".encode())
        try:
            for file in sorted(set().union(*map(_files, self.entries.values()))):
                digest.update(Path(file).read_bytes())
        except OSError:  # typed in, or made by a program
            return None
        return f"{self.name} {self.version} {digest.hexdigest()}"


class _State:
    """What the process has found and activated."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.found = False
        self.is_finding = False
        self.fault: str | None = None
        self.process: tuple[Entries, ...] = ()
        self.revision = 0
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
    return _merged(given).get((table, _short(table, name))) if given else None


def _short(table: Table, name: str) -> str:
    """Overloads without a name are found by that of the op, with `.default` or without."""
    return name.removesuffix(".default") if table in BY_OP else name


def extended_names(table: Table) -> dict[str, Entry]:
    """All entries of a table, by name."""
    given = active()
    found = _merged(given) if given else {}
    return {name: entry for (kind, name), entry in found.items() if kind == table}


def _merged(given: tuple[Entries, ...]) -> dict[tuple[Table, str], Entry]:
    key = (given, _state.revision)
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
    except Exception as error:
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


# Places


def _files(entry: Entry) -> set[str]:
    code = getattr(entry.value, "__code__", None)
    own = {code.co_filename} if code is not None else set[str]()
    return own | {entry.place.rpartition(":")[0]}


def caller() -> str:
    """`file:line` of the code outside of Lamina that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_own(file: str) -> bool:
    name = os.path.basename(file)
    is_named = name in ("extension_tables.py", "extension.py")
    return is_named and os.path.realpath(file).startswith(_ROOT)


def place_in(error: BaseException, file: str) -> str:
    """`file:line` where an error arose: in that file if its traceback is there, else at its end."""
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if (not file and not name.startswith("<frozen")) or name == file:
            found = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


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
