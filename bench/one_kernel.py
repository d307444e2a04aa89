"""Cold compile time of one fused kernel, in new processes, beside Inductor.

`python -m bench.one_kernel [--repeats N]` starts a process for each measurement. It imports torch
and the compiler first. Then it times `gelu(x + b) * tanh(x) + exp(-x * x)` to the first result,
from the exported program, or from the function for Inductor. No cache holds anything: each
process has an empty cache folder of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from statistics import median

_COMMON = """
import importlib, pkgutil, sys, time
import torch
def f(x, b):
    return torch.nn.functional.gelu(x + b) * torch.tanh(x) + torch.exp(-x * x)
x, b = torch.randn(1024, 4096), torch.randn(4096)
def milliseconds(work):
    start = time.perf_counter()
    made = work()
    return made, 1e3 * (time.perf_counter() - start)
"""

_LAMINA = """
class Module(torch.nn.Module):
    def forward(self, x, b):
        return f(x, b)
program = torch.export.export(Module(), (x, b))
def load():
    import lamina
    for layer in ("dialects", "codegen", "passes", "lowering", "runtime"):
        package = importlib.import_module("lamina." + layer)
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(found.name)
    import lamina.frontends.exported_program
    return lamina
lamina, imports = milliseconds(load)
compiled, first = milliseconds(lambda: lamina.compile(program, cache=False))
_, call = milliseconds(lambda: compiled(x, b))
_, again = milliseconds(lambda: lamina.compile(program, cache=False))
print(imports, first, first + call, again)
"""

_INDUCTOR = """
def load():
    import torch._dynamo
    import torch._inductor.compile_fx
    import torch._inductor.config as config
    config.force_disable_caches = True
_, imports = milliseconds(load)
_, first = milliseconds(lambda: torch.compile(f)(x, b))
torch._dynamo.reset()
_, again = milliseconds(lambda: torch.compile(f)(x, b))
print(imports, first, first, again)
"""

COLUMNS = ("imports", "compile", "to the first result", "compile again")


def _run(script: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "LAMINA_CACHE_DIR": folder,
            "TORCHINDUCTOR_CACHE_DIR": folder,
            "OMP_NUM_THREADS": "2",
        }
        done = subprocess.run(
            [sys.executable, "-c", _COMMON + script],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return [float(word) for word in done.stdout.split()]


def measure(repeats: int) -> dict[str, list[list[float]]]:
    """Milliseconds by compiler, a row of `COLUMNS` for each process; processes take turns."""
    rows: dict[str, list[list[float]]] = {"lamina": [], "inductor": []}
    for _ in range(repeats):
        rows["lamina"].append(_run(_LAMINA))
        rows["inductor"].append(_run(_INDUCTOR))
    return rows


def report(repeats: int) -> None:
    """Prints best and median of each column."""
    print(f"{'one kernel, ms: best / median':32}" + "".join(f"{name:>22}" for name in COLUMNS))
    for name, rows in measure(repeats).items():
        columns = list(zip(*rows, strict=True))
        print(f"{name:32}" + "".join(f"{_cell(column):>22}" for column in columns))


def _cell(values: tuple[float, ...]) -> str:
    ways: tuple[Callable[[tuple[float, ...]], float], ...] = (min, median)
    return " / ".join(f"{way(values):.0f}" for way in ways)


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    report(parser.parse_args().repeats)


if __name__ == "__main__":
    main()
