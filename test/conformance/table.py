"""Verdicts as a table, as counts, and as a ranking of what stands in the way most often."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

Record = dict[str, Any]
STATUSES = ("passed", "refused", "failed", "crashed")


def read(path: Path) -> list[Record]:
    """The records of a JSONL file, without those that only say a unit is done."""
    return [record for record in _lines(path) if "status" in record]


def _lines(path: Path) -> list[Record]:
    """What a file holds up to a line that was cut off when its writer was ended."""
    found: list[Record] = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def resume(path: Path, again: Collection[str] = ()) -> set[str]:
    """The units that a file of results has whole; the others' records are taken out of it.

    So are units with a sample whose verdict is in `again`.
    """
    lines = _lines(path)
    done = {record["unit"] for record in lines if "unit" in record}
    done -= {_unit_of(record) for record in lines if record.get("status") in again}
    kept = [r for r in lines if (r["unit"] if "unit" in r else _unit_of(r)) in done]
    if lines:
        path.write_text("".join(json.dumps(record) + "\n" for record in kept))
    return done


def _unit_of(record: Record) -> str:
    return f"{record['op']}/{record['dtype']}/{record['via']}"


def summary(records: Sequence[Record]) -> str:
    """Counts of samples, of ops by their worst verdict, and what compiling took."""
    samples: Counter[str] = Counter()
    worst: dict[str, str] = {}
    classes: Counter[str] = Counter()
    for record in records:
        status = record["status"]
        samples[status] += 1
        if status == "refused":
            classes[record["reason"].partition(":")[0]] += 1
        if status in STATUSES:
            before = worst.get(record["op"], STATUSES[0])
            worst[record["op"]] = max(before, status, key=STATUSES.index)
    ops = Counter(worst.values())
    lines = ["| | passed | refused | failed | crashed |", "|---|---|---|---|---|"]
    for name, counts in (("samples", samples), ("ops, by worst sample", ops)):
        lines.append(f"| {name} | " + " | ".join(str(counts[s]) for s in STATUSES) + " |")
    exportable = sum(samples[s] for s in STATUSES) - classes["export"]
    share = 100 * classes["lamina"] / max(exportable, 1)
    lines += [
        "",
        f"Refused by torch.export: {classes['export']} samples. Refused by Lamina: "
        f"{classes['lamina']}, {share:.1f} % of the rest. "
        f"Left out, because eager mode has no result: {samples['skipped']}.",
    ]
    unbounded = sum("unbounded" in record for record in records)
    if unbounded:
        lines.append(f"As loops within bounds were not run: {unbounded}.")
    notes = Counter(record["note"] for record in records if "note" in record)
    for note, count in notes.most_common():
        lines.append(f"Passed outside the tolerance, {note}: {count}.")
    times = [record["ms"] for record in records if "ms" in record]
    if times:
        lines.append(
            f"Compiling a program took {median(times):.0f} ms of processor time in the median, "
            "import and the first program of each process excluded."
        )
    return "\n".join(lines)


def page(records: Sequence[Record]) -> str:
    """The whole report as Markdown."""
    head = "# Conformance: the table\n\nMade by `python test/conformance --table`; what it means: "
    head += "[conformance.md](conformance.md).\n"
    return "\n".join((head, summary(records), "", by_dtype(records), "", markdown(records), ""))


def by_dtype(records: Iterable[Record]) -> str:
    """Counts of samples for each dtype."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        status = record["status"]
        if status == "refused":
            status = record["reason"].partition(":")[0]
        counts[record["dtype"]][status] += 1
    rows = [
        "| dtype | passed | refused by torch.export | refused by Lamina | failed | crashed |",
        "|---|---|---|---|---|---|",
    ]
    for dtype, found in counts.items():
        numbers = (found[k] for k in ("passed", "export", "lamina", "failed", "crashed"))
        rows.append(f"| {dtype} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(rows)


def markdown(records: Iterable[Record]) -> str:
    """What is not passed, by op and dtype, then the number of passed samples of every op."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record["status"] in STATUSES:
            groups[record["op"], record["dtype"]].append(record)
    rows = ["| op | dtype | passed | failed | refused | reason |", "|---|---|---|---|---|---|"]
    for (op, dtype), group in sorted(groups.items()):
        counts = Counter(record["status"] for record in group)
        if counts["passed"] == len(group):
            continue
        failed = counts["failed"] + counts["crashed"]
        reason = next(r for r in sorted(group, key=_severity) if r["status"] != "passed")["reason"]
        shown = short_reason(reason).replace("|", "\\|").replace("<", "&lt;")
        rows.append(
            f"| `{op}` | {dtype} | {counts['passed']} | {failed} | {counts['refused']} | {shown} |"
        )
    dtypes = list(dict.fromkeys(dtype for _, dtype in groups))
    rows += ["", "Samples that pass; `-`: torch's database has no sample in the dtype.", ""]
    rows += ["| op | " + " | ".join(dtypes) + " |", "|---|" + "---|" * len(dtypes)]
    for op in sorted({op for op, _ in groups}):
        cells = (_passed(groups.get((op, dtype))) for dtype in dtypes)
        rows.append(f"| `{op}` | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _passed(group: list[Record] | None) -> str:
    return str(sum(r["status"] == "passed" for r in group)) if group else "-"


def _severity(record: Record) -> int:
    return -STATUSES.index(record["status"])


def short_reason(reason: str) -> str:
    """A reason without what differs from sample to sample."""
    reason = " ".join(reason.split())
    text = re.sub(r" (at|Mismatched).*? \|", " |", reason)
    text = re.sub(r"tensor<[^>]*>+|complex<f\d+>|0x[0-9a-f]+", "T", text)
    text = re.sub(r"\[[-\d, ]*\]|\b\d+(\.\d+)?(e[+-]?\d+)?\b", "N", text)
    return text[:160]


def ranking(records: Iterable[Record], statuses: Iterable[str] = STATUSES[1:]) -> str:
    """Reasons by the number of ops they hold up, worst verdicts first."""
    lines: list[str] = []
    records = list(records)
    for status in sorted(statuses, key=STATUSES.index, reverse=True):
        ops: dict[str, Counter[str]] = defaultdict(Counter)
        count: Counter[str] = Counter()
        example: dict[str, Record] = {}
        for record in records:
            if record["status"] != status:
                continue
            place = record.get("place")
            reason = short_reason(record["reason"]) + (f" [{place}]" if place else "")
            ops[reason][f"{record['op']}:{record['dtype']}"] += 1
            count[reason] += 1
            example.setdefault(reason, record)
        lines.append(f"## {status}: {sum(count.values())} samples, {len(ops)} reasons")
        for reason, found in sorted(ops.items(), key=lambda item: -len(item[1])):
            names = " ".join(list(found)[:12])
            lines.append(f"{len(found):4} ops·dtypes {count[reason]:5} samples  {reason}")
            lines.append(f"       {names}{' ...' if len(found) > 12 else ''}")
    return "\n".join(lines)
