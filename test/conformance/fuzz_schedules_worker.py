"""A process that judges schedules: reads units of work from stdin, writes a line for each case."""

from __future__ import annotations

import json
import os
import resource
import sys
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "passes"))

from schedules.trial import trial

MEMORY_BYTES = 6 << 30
"""Of address space: no schedule of a small program may ask for more."""

TEXTS = 4
"""One case in so many is given in the program's text, too: reading takes longer than all else."""


def main() -> None:
    """Serves on stdin and stdout; whatever else prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def write(record: dict[str, Any]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    write({"ready": True})
    for line in sys.stdin:
        unit = json.loads(line)
        judged = trial(unit["name"], unit["dtype"])
        cases = enumerate(judged.cases())
        step = int(unit["via"])
        for number, case in islice(cases, 0, None, step):
            if number >= unit["start"]:
                write({"begin": number})
                in_text = number // step % TEXTS == 0
                write({"sample": number, **judged.judge(case, in_text=in_text)})
        write({"done": True})


if __name__ == "__main__":
    main()
