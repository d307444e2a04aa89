"""`python test/conformance/fuzz.py`: random programs through Lamina, compared with eager mode."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool import Record, Unit, run_units

WORKER = Path(__file__).with_name("fuzz_worker.py")
CASES_PER_UNIT = 10
SECONDS_PER_CASE = 120.0  # those that fail are shrunk
CASES_PER_SEED = 1_000_000
"""Cases are numbered, and those of a seed begin at this multiple of it: other seeds share none."""


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python test/conformance/fuzz.py", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other seeds have other cases")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument(
        "--begin", type=int, default=0, help="how many of the seed's cases are left to another run"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, metavar="CASE", help="run one case here and print it")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz.jsonl"))
    parser.add_argument(
        "--refused", type=float, default=1.0, help="percentage of cases that may be refused"
    )
    return parser.parse_args(given)


def run(options: argparse.Namespace) -> list[Record]:
    """Runs the cases; their records, which are in the output file as well."""
    first = options.seed * CASES_PER_SEED + options.begin
    last = first + options.cases
    starts = range(first, last, CASES_PER_UNIT)
    units = [Unit("fuzz", "", "", start, min(start + CASES_PER_UNIT, last)) for start in starts]
    found: list[Record] = []
    started = time.monotonic()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w") as out:

        def emit(_: Unit, records: list[Record]) -> None:
            for record in records:
                out.write(json.dumps(record) + "\n")
                if record["status"] in ("failed", "crashed"):
                    print(_report(record), flush=True)
            out.flush()
            found.extend(records)
            if len(found) % 100 < CASES_PER_UNIT:
                spent = time.monotonic() - started
                print(f"{len(found)} of {options.cases} in {spent:.0f} s", file=sys.stderr)

        run_units(units, options.jobs, emit, WORKER, SECONDS_PER_CASE)
    return found


def _report(record: Record) -> str:
    lines = [f"case {record['sample']}: {record['status']}: {record.get('reason', '')}"]
    lines += [f"  {record[key]}" for key in ("way",) if key in record]
    return "\n".join(lines) + "\n" + record.get("program", "")


def summary(records: Sequence[Record]) -> str:
    """Counts of verdicts, and what was refused."""
    counts = Counter(record["status"] for record in records)
    lines = [", ".join(f"{n} {status}" for status, n in sorted(counts.items()))]
    reasons = Counter(r["reason"][:160] for r in records if r["status"] == "refused")
    lines += [f"  {n} refused: {reason}" for reason, n in reasons.most_common()]
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Entry point; the exit code says whether a program failed or too many were refused."""
    options = _arguments(given)
    if options.show is not None:
        return _show(options.show)
    records = run(options)
    print(summary(records))
    counts = Counter(record["status"] for record in records)
    bad = counts["failed"] + counts["crashed"]
    return int(bool(bad) or 100 * counts["refused"] > options.refused * len(records))


def _show(seed: int) -> int:
    from fuzzing.drawing import draw
    from fuzzing.trial import case

    print(draw(seed).repro())
    record: dict[str, Any] = {"sample": seed, **case(seed)}
    print(_report(record))
    return int(record["status"] == "failed")


if __name__ == "__main__":
    raise SystemExit(main())
