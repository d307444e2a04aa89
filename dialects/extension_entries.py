"""What extensions consist of: entries, each by its table and the name of what it is about."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lamina.dialects.errors import InputError
from lamina.dialects.records import record

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
    "backend",
    "schedule chooser",
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

SCHEMA_DIALECTS = ("aten", "core_aten", "prims")
"""Those whose ops come from schemas."""

_ROOT = str(Path(__file__).resolve().parents[1]) + os.sep


@record
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
        name = short_name(table, name)
        before = self.entries.get((table, name))
        if before is not None:
            raise made.error(
                f"the {table} of '{name}' is registered twice, first in {before.place}"
            )
        self.entries[table, name] = made

    def check(self) -> None:
        """Raises InputError for an entry that would replace one of Lamina's, without leave."""

    @property
    def changes_all(self) -> bool:
        """Whether code of programs may be another that name none of its ops."""
        return any(
            entry.override
            if table == "vector function"
            else table in ("backend", "schedule chooser")
            or (table in _CHANGING and name.partition(".")[0] in OWN_DIALECTS)
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
            files = (_files(table, entry) for (table, _), entry in self.entries.items())
            for file in sorted(set().union(*files)):
                digest.update(Path(file).read_bytes())
        except OSError:  # typed in, or made by a program
            return None
        return f"{self.name} {self.version} {digest.hexdigest()}"


def short_name(table: Table, name: str) -> str:
    """Overloads without a name are found by that of the op, with `.default` or without."""
    return name.removesuffix(".default") if table in BY_OP else name


def _files(table: Table, entry: Entry) -> set[str]:
    """Where an entry was said, and where its code stands; of a pass, where its class does."""
    code = getattr(entry.value, "__code__", None)
    own = {code.co_filename} if code is not None else set[str]()
    if table == "pass":
        module = sys.modules.get(entry.value().__module__)
        own = {getattr(module, "__file__", None) or ""}
    return own | {entry.place.rpartition(":")[0]}


def caller() -> str:
    """`file:line` of the code outside of Lamina that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_own(file: str) -> bool:
    name = os.path.basename(file)
    is_named = name in ("extension_entries.py", "extension_tables.py", "extension.py")
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
