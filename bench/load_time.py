"""What `lamina.load` takes, and what a call takes of a program whose weights stay in its file.

    python -m bench.load_time

Each size of weights is a product of one row by them. A process of its own loads the program, its
modules imported before; the file is in the system's cache. Times are the least of many.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import lamina
from bench.timing import format_seconds

MEGABYTES = (0, 1, 10, 30, 100)
COLUMNS = 1024
TEXT = """
func.func @main(%x: tensor<1xROWSxf32>, %w: tensor<ROWSx1024xf32> {lamina.kind = "parameter",
    lamina.name = "w"}) -> tensor<1x1024xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<1xROWSxf32>, tensor<ROWSx1024xf32>) -> tensor<1x1024xf32>
  func.return %0 : tensor<1x1024xf32>
}
"""
LOADING = """
import sys, time
import lamina
lamina.load, lamina.compile
import lamina.codegen.jit, lamina.runtime.saved, lamina.runtime.compiled
begin = time.perf_counter()
lamina.load(sys.argv[1], mapped=sys.argv[2] == "True")
print(time.perf_counter() - begin)
"""


def least(function: Callable[[], object], repeats: int) -> float:
    """The least seconds of some calls."""
    taken: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def loading(file: Path, mapped: bool, processes: int = 7) -> float:
    """The least seconds in which a process loads a file."""
    command = [sys.executable, "-c", LOADING, str(file), str(mapped)]
    taken: list[float] = []
    for _ in range(processes):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        taken.append(float(run.stdout))
    return min(taken)


def main() -> None:
    """Prints a line for each size."""
    heads = ("compiled", "read", "mapped")
    print(f"weights  load: read   mapped    call: {'  '.join(f'{head:>8}' for head in heads)}")
    for megabytes in MEGABYTES:
        rows = max(megabytes * (1 << 20) // 4 // COLUMNS, 4)
        weights = np.random.default_rng(0).standard_normal((rows, COLUMNS), np.float32)
        compiled = lamina.compile(TEXT.replace("ROWS", str(rows)), constants={"w": weights})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "program.lamina")
            compiled.save(file)
            taken = [loading(file, mapped) for mapped in (False, True)]
            programs = [compiled, *(lamina.load(file, mapped=m) for m in (False, True))]
            calls = calling(programs, np.ones((1, rows), np.float32))
        columns = [f"{format_seconds(seconds):>8}" for seconds in (*taken, *calls)]
        print(f"{megabytes:4} MB  {'  '.join(columns[:2])}          {'  '.join(columns[2:])}")


def calling(programs: Sequence[Callable[..., object]], x: np.ndarray) -> list[float]:
    """The least seconds of a call of each program, called in turns."""
    calls = [1.0] * len(programs)
    for _ in range(10):
        for number, program in enumerate(programs):
            calls[number] = min(calls[number], least(partial(program, x), 20))
    return calls


if __name__ == "__main__":
    main()
