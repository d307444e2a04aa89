"""What a team of two threads costs: starting one and waiting for its end, and a barrier within it.

A target has such figures, `fork_nanoseconds` and `barrier_nanoseconds`. `python -m bench.team_cost`
shows best and median of many calls, `python -m lamina.tools.calibrate` writes them to a file.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

from bench.timing import format_seconds, interleave
from lamina.codegen.target import Target
from lamina.tools.machine_programs import (
    TEAM_BODIES,
    TEAM_LANES,
    TEAM_ROUNDS,
    compile_text,
    team_text,
)


def main() -> None:
    """Prints the seconds that a fork and a barrier take above the work itself."""
    a, b = (np.zeros((2, TEAM_LANES), np.float32) for _ in range(2))
    target = Target.host()
    programs = {
        name: compile_text(team_text(body), 2, target, openmp=True)
        for name, body in TEAM_BODIES.items()
    }
    timings = interleave(
        {
            name: lambda p=p: p.call("main", [a.ctypes.data, b.ctypes.data])
            for name, p in programs.items()
        }
    )
    alone = timings["no team"]
    for name in ("fork", "barrier"):
        best, median = (
            (getattr(timings[name], which) - getattr(alone, which)) / (2 * TEAM_ROUNDS)
            for which in ("best", "median")
        )
        print(f"{name:8} {format_seconds(best)} / {format_seconds(median)}")


if __name__ == "__main__":
    main()
