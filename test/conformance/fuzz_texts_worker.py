"""A process that judges mutated texts: reads units of work from stdin, writes a line for each."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from random import Random
from typing import Any

from texts.mutations import mutated
from texts.trial import judge

MEMORY_BYTES = 6 << 30
"""Of address space: what asks for more without having checked gets a MemoryError, and is found."""

SEEDS_FILE = "LAMINA_TEXT_SEEDS"
"""Environment variable: the file of seeds and names of ops that the starting process wrote."""


def text_of(seed: int, number: int, corpus: dict[str, list[str]]) -> str:
    """The text of case `number` of a run: the same in every process."""
    random = Random(f"{seed} {number}")
    return mutated(random.choice(corpus["seeds"]), random, corpus["ops"])


def main() -> None:
    """Serves on stdin and stdout; whatever else prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    corpus = json.loads(Path(os.environ[SEEDS_FILE]).read_text())

    def write(record: dict[str, Any]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    write({"ready": True})
    for line in sys.stdin:
        unit = json.loads(line)
        for number in range(unit["start"], unit["stop"]):
            write({"begin": number})
            write({"sample": number, **judge(text_of(int(unit["name"]), number, corpus))})
        write({"done": True})


if __name__ == "__main__":
    main()
