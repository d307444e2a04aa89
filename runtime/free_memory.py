"""How much memory there is for what a program takes: what the machine has, and its control group.

An allocation of more than that may succeed, and the process is killed when it is written to. So
what is large is asked for before it is taken; what is small costs nothing.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from lamina.dialects.errors import OutOfMemoryError
from lamina.dialects.records import record

ASKED_FROM = 1 << 28
"""Bytes from which on memory is asked for. To ask takes 0.3 ms, to touch so many pages for the
first time 30 to 60 ms (a Cascade Lake)."""

_UNLIMITED = sys.maxsize

_NO_LIMIT = 1 << 60
"""Bytes: groups without a limit have one that no machine has."""

_KILOBYTE = 1 << 10


@record
class ControlGroup:
    """Files that say what a control group may take, what it has, and what of that are cached files,
    by the names of their lines: the system gives them up for memory."""

    limit: Path
    usage: Path
    statistics: Path
    cached: tuple[str, ...]

    def free(self) -> int:
        """Bytes that the group may take beyond what it has; `sys.maxsize` where nothing says so."""
        limit = _number(self.limit)
        if limit is None or limit >= _NO_LIMIT or (usage := _number(self.usage)) is None:
            return _UNLIMITED
        lines = _table(self.statistics)
        return limit - usage + sum(lines.get(name, 0) for name in self.cached)


def free_bytes(root: Path = Path("/")) -> int:
    """Bytes that this process may still take, as files of the system below `root` say.

    It is `sys.maxsize` where these are not there.
    """
    machine = _table(root / "proc/meminfo")
    free = _UNLIMITED
    if "MemAvailable:" in machine:
        free = (machine["MemAvailable:"] + machine.get("SwapFree:", 0)) * _KILOBYTE
    return max(min([free, *(group.free() for group in control_groups(root))]), 0)


@cache
def control_groups(root: Path = Path("/")) -> tuple[ControlGroup, ...]:
    """The control groups of this process that may limit its memory, from the innermost out."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ()
    found: list[ControlGroup] = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
            cached = ("inactive_file", "active_file")
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            cached = ("total_inactive_file", "total_active_file")
        else:
            continue
        # In a container its group may be the root of what can be seen.
        inner = Path(path.lstrip("/"))
        for place in (inner, *inner.parents) if inner.parts else (inner,):
            group = base / place
            if (group / names[0]).is_file():
                made = ControlGroup(
                    group / names[0], group / names[1], group / "memory.stat", cached
                )
                found.append(made)
    return tuple(found)


def has_room(size: int) -> bool:
    """Whether there is memory for so many bytes more."""
    return size <= free_bytes()


def check_room(size: int, what: str) -> None:
    """Raises OutOfMemoryError where `what` takes more bytes than are free."""
    if size >= ASKED_FROM and size > (free := free_bytes()):
        raise OutOfMemoryError(f"{what} takes {size} bytes, and {free} are free")


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _table(path: Path) -> dict[str, int]:
    """The lines of a file that are a name and a number."""
    try:
        rows = (line.split() for line in path.read_text().splitlines())
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) >= 2 and row[1].isdecimal()}
