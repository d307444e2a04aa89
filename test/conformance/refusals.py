"""The checked-in list of what the quick subset refuses, and its comparison with a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from table import Record, short_reason

LIST = Path(__file__).with_name("refused.tsv")
_HEADER = "# What the quick subset of conformance refuses: op, dtype, reason.\n"


def write(records: Iterable[Record]) -> None:
    """Makes the list what `records` say."""
    rows = sorted({_row(record) for record in records if record["status"] == "refused"})
    LIST.write_text(_HEADER + "".join("\t".join(row) + "\n" for row in rows))


def differences(records: Iterable[Record]) -> list[str]:
    """A line for each refusal that is not listed, and each listed one that is none (any more)."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    listed = {(op, dtype): reason for op, dtype, reason in rows}
    seen = {_row(r)[:2]: r for r in records}
    found: list[str] = []
    for key, record in sorted(seen.items()):
        refused = record["status"] == "refused"
        if refused and key not in listed:
            found.append(f"{'/'.join(key)}: refused and not listed: {record['reason']}")
        if not refused and key in listed:
            found.append(f"{'/'.join(key)}: listed as refused, but {record['status']}; drop it")
    found += [f"{'/'.join(key)}: listed, but there is no such case" for key in listed.keys() - seen]
    return found


def _row(record: Record) -> tuple[str, str, str]:
    return record["op"], record["dtype"], short_reason(record.get("reason", ""))
