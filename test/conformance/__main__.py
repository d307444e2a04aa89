"""`python test/conformance`: torch's op and module databases through Lamina, and a table of it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import refusals
from cases import DTYPES, Entry, entries
from pool import Record, Unit, run_units
from table import page, ranking, read, resume, summary


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python test/conformance", description=__doc__)
    parser.add_argument("--ops", nargs="+", default=["*"], metavar="GLOB", help="names of ops")
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=list(DTYPES))
    parser.add_argument("--samples", type=int, metavar="N", help="at most N samples of each")
    parser.add_argument(
        "--via",
        nargs="+",
        default=["export", "compile", "open"],
        metavar="WAY",
        choices=["export", "compile", "open", "loops"],
        help="torch.export, torch.compile, torch.export with all sizes open; these down to loops",
    )
    parser.add_argument(
        "--compiled",
        type=int,
        default=1,
        metavar="N",
        help="samples of each op that go through torch.compile, in its first dtype",
    )
    parser.add_argument(
        "--opened",
        type=int,
        default=1,
        metavar="N",
        help="samples of each op that have all sizes open, in its first dtype",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one sample of each in f32 and i64, by torch.export"
    )
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="part I of N, from 0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on with these results")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        choices=["refused", "failed", "crashed"],
        help="with --resume: run what got these verdicts anew",
    )
    parser.add_argument("--output", type=Path, default=Path("build/conformance.jsonl"))
    parser.add_argument(
        "--table", type=Path, help="write the table of FILE.jsonl here, as Markdown"
    )
    parser.add_argument("--failures", action="store_true", help="print failures, ranked")
    parser.add_argument("--why-ranking", action="store_true", help="print all reasons, ranked")
    parser.add_argument("--read-only", action="store_true", help="no runs: report on --output")
    parser.add_argument("--check", action="store_true", help="compare refusals with the list")
    parser.add_argument("--write-refused", action="store_true", help="write the list of refusals")
    return parser.parse_args(given)


def units(options: argparse.Namespace) -> list[Unit]:
    """The work that the options ask for, in the order of the databases."""
    if options.quick:
        options.dtypes, options.samples, options.via = ["f32", "i64"], 1, ["export"]
    part, parts = map(int, options.shard.split("/"))
    found: list[Unit] = []
    for entry in entries(options.ops):
        found += _units_of(entry, options)
    return found[part::parts]


def _units_of(entry: Entry, options: argparse.Namespace) -> list[Unit]:
    dtypes = [dtype for dtype in entry.dtypes() if dtype in options.dtypes]
    made: list[Unit] = []
    if "export" in options.via:
        made += [Unit(entry.name, dtype, "export", 0, options.samples) for dtype in dtypes]
    if "open" in options.via:
        made += [Unit(entry.name, dtype, "open", 0, options.opened) for dtype in dtypes[:1]]
    if "loops" in options.via:
        made += [Unit(entry.name, dtype, "loops", 0, options.opened) for dtype in dtypes[:1]]
    if "compile" in options.via:
        made += [Unit(entry.name, dtype, "compile", 0, options.compiled) for dtype in dtypes[:1]]
    return made


def run(options: argparse.Namespace) -> None:
    """Runs what is left to do, appending to the results as units get done."""
    output = options.resume or options.output
    output.parent.mkdir(parents=True, exist_ok=True)
    done = resume(output, options.again) if options.resume else set[str]()
    todo = [unit for unit in units(options) if unit.key not in done]
    started, finished = time.monotonic(), 0
    with output.open("a" if options.resume else "w") as out:

        def emit(unit: Unit, records: list[Record]) -> None:
            nonlocal finished
            finished += 1
            for record in [*records, {"unit": unit.key}]:
                out.write(json.dumps(record) + "\n")
            out.flush()
            if finished % 100 == 0:
                spent = time.monotonic() - started
                print(f"{finished} of {len(todo)} in {spent:.0f} s", file=sys.stderr)

        run_units(todo, options.jobs, emit)


def main(given: Sequence[str] | None = None) -> int:
    """Entry point; the exit code says whether there are failures or crashes."""
    options = _arguments(given)
    if not options.read_only:
        run(options)
    records = read(options.resume or options.output)
    print(summary(records))
    if options.table:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        options.table.write_text(page(records))
    if options.failures or options.why_ranking:
        wanted = ("failed", "crashed") if options.failures else ("failed", "crashed", "refused")
        print(ranking(records, wanted))
    if options.write_refused:
        refusals.write(records)
    unlisted = refusals.differences(records) if options.check else []
    print("\n".join(unlisted), end="\n" if unlisted else "")
    return int(bool(unlisted) or any(r["status"] in ("failed", "crashed") for r in records))


if __name__ == "__main__":
    raise SystemExit(main())
