"""`python test/conformance/fuzz_texts.py --seed 1 --cases 1000`: mutated programs of every layer.

Whatever the text, there is a message, or a result equal to the interpreter's: no traceback, no
crash, no hang, no allocation that was not checked. `--show N` prints the text of a case.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from fuzz_texts_worker import SEEDS_FILE, text_of
from pool import Record, Unit, run_units
from texts.mutations import PIECES
from texts.seeds import seeds

from lamina.dialects.context import DIALECTS, load_dialect
from lamina.dialects.nearest_ops import op_names

WORKER = Path(__file__).with_name("fuzz_texts_worker.py")
CASES_PER_UNIT = 50


def corpus() -> dict[str, list[str]]:
    """Seeds, and the names that an op may get."""
    names = [name for dialect in DIALECTS for name in op_names(load_dialect(dialect))]
    return {"seeds": list(seeds()), "ops": names + list(PIECES["ops"]) * 5}


def run(seed: int, cases: Sequence[int], jobs: int, made: dict[str, list[str]]) -> list[Record]:
    """The records of the cases of a run, which processes of limited memory judge."""
    records: list[Record] = []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(made, file)
        file.flush()
        os.environ[SEEDS_FILE] = file.name
        units = [
            Unit(str(seed), "text", "mutated", start, min(start + CASES_PER_UNIT, cases[-1] + 1))
            for start in range(cases[0], cases[-1] + 1, CASES_PER_UNIT)
        ]

        def note(_: Unit, found: list[Record]) -> None:
            records.extend(found)
            for record in chain.from_iterable(failures(found).values()):
                print(
                    f"case {record['sample']}: {record.get('place', '')} {record['reason']}",
                    file=sys.stderr,
                    flush=True,
                )

        run_units(units, jobs, note, WORKER)
    return sorted(records, key=lambda record: record["sample"])


def failures(records: Sequence[Record]) -> dict[str, list[Record]]:
    """What failed or ended the process, by reason and place, the most frequent first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["status"] in ("failed", "crashed"):
            found[f"{record.get('place', '')} {record['reason'][:70]}"].append(record)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def main(given: Sequence[str] | None = None) -> int:
    """1 if any text failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, metavar="N", help="print the text of case N")
    options = parser.parse_args(given)
    if min(options.cases, options.start, options.show or 0) < 0:
        parser.error("cases are counted from 0")
    made = corpus()
    if options.show is not None:
        print(text_of(options.seed, options.show, made))
        return 0
    began = time.monotonic()
    cases = range(options.start, options.start + options.cases)
    records = run(options.seed, cases, options.jobs, made)
    found = failures(records)
    for what, which in found.items():
        numbers = ", ".join(str(record["sample"]) for record in which[:6])
        print(f"{len(which):5} {what}\n      {which[0]['reason']}\n      cases {numbers}")
    counts = Counter(record["status"] for record in records)
    shown = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    print(
        f"seed {options.seed}, {len(made['seeds'])} seeds: {shown}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
