"""`python test/conformance/fuzz_schedules.py [PROGRAM ...]`: schedules of all kinds of kernels.

Each clause of each kernel's and nest's schedule is set to other values, most of them wrong, given
to `lamina.compile` and in the program's text: it is refused where it stands, or the result is that
of the interpreter. `--every N` tries one case in N; `--show N` prints the schedule of case N.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "passes"))

from pool import Record, Unit, run_units
from schedules.perturbing import text_of
from schedules.programs import PROGRAMS
from schedules.trial import trial

WORKER = Path(__file__).with_name("fuzz_schedules_worker.py")
TARGETS = ("x86-64-v3", "host")
SECONDS_PER_CASE = 120.0
"""Of a clock, on loaded cores; what takes so long does not end."""


def run(programs: Sequence[str], targets: Sequence[str], every: int, jobs: int) -> list[Record]:
    """The records of cases, which processes of limited memory judge."""
    records: list[Record] = []

    def note(_: Unit, found: list[Record]) -> None:
        records.extend(found)
        for record in chain.from_iterable(failures(found).values()):
            print(_shown(record), file=sys.stderr, flush=True)

    units = [Unit(name, target, str(every)) for name in programs for target in targets]
    run_units(units, jobs, note, WORKER, SECONDS_PER_CASE)
    return records


def failures(records: Sequence[Record]) -> dict[str, list[Record]]:
    """What failed or ended the process, by reason, the most frequent first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["status"] in ("failed", "crashed"):
            found[record["reason"][:60]].append(record)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _shown(record: Record) -> str:
    return f"{record['op']}, {record['dtype']}, case {record['sample']}: {record['reason']}"


def main(given: Sequence[str] | None = None) -> int:
    """1 if any case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, metavar="N", help="print case N of the one program")
    parser.add_argument("--messages", action="store_true", help="print each refusal once")
    options = parser.parse_args(given)
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"no program is called {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    targets = options.targets.split(",")
    if options.show is not None:
        cases = trial(options.programs[0], targets[0]).cases()
        kernel, schedule = next(islice(cases, options.show, None))
        print(f"{kernel}: {text_of(schedule)}")
        return 0
    began = time.monotonic()
    records = run(options.programs, targets, options.every, options.jobs)
    found = failures(records)
    for what, which in found.items():
        print(f"{len(which):5} {what}\n      {_shown(which[0])}")
    if options.messages:
        print(*sorted({r["reason"] for r in records if r["status"] == "refused"}), sep="\n")
    counts = Counter(record["status"] for record in records)
    shown = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    print(f"{shown}; {time.monotonic() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
