"""The table of `lines.txt`: families of lines that random programs are made of."""

from __future__ import annotations

from pathlib import Path


def _families() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    family = ""
    for line in Path(__file__).with_name("lines.txt").read_text().splitlines():
        if line.startswith("["):
            family = line.strip("[]")
            found[family] = []
        elif line and not line.startswith("#"):
            found[family].append(line)
    return found


EXPRESSIONS = _families()
"""Lines that make a tensor, or several, of which one is taken, by family."""

STATEMENTS = EXPRESSIONS.pop("writes")
"""Lines that write in place."""
