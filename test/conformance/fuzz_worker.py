"""A process of `fuzz.py`: reads ranges of seeds from stdin, writes a line for each verdict."""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

import torch
from fuzzing.trial import case


def serve(lines: IO[str], out: IO[str]) -> None:
    """Answers every unit on `lines` with a line per case, then a line that it is done."""

    def write(record: dict[str, Any]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    write({"ready": True})
    for line in lines:
        unit = json.loads(line)
        for seed in range(unit["start"], unit["stop"]):
            write({"begin": seed})
            write({"sample": seed, **case(seed)})
        write({"done": True})


def main() -> None:
    """Serves on stdin and stdout; whatever else prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(2)
    serve(sys.stdin, out)


if __name__ == "__main__":
    main()
