"""Kernels while other work holds the cores, beside eager mode and beside themselves on one thread.

    python -m bench.loaded [--seconds S] [--quiet]

A process that never rests runs on each core. A team of threads waits for each of its threads, and
one that has lost its core is away for a slice of the scheduler: the median shows whether that is
what calls take. `--quiet` leaves the busy processes out.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

import lamina
from bench.timing import format_seconds

BUSY = "x = 1\nwhile True:\n    x = (x * 5 + 1) & 0xFFFF"


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


KERNELS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "add 512x512": (lambda x, y: x + y, ((512, 512), (512, 512))),
    "gelu 256x512": (lambda x: torch.nn.functional.gelu(x), ((256, 512),)),
    "softmax 256x512": (lambda x: torch.softmax(x, 1), ((256, 512),)),
    "layer norm 256x768": (lambda x: torch.nn.functional.layer_norm(x, (768,)), ((256, 768),)),
    "sum of columns 512x512": (lambda x: x.sum(0), ((512, 512),)),
    "product 128x256x256": (lambda x, y: x @ y, ((128, 256), (256, 256))),
    "softmax of a product 256": (lambda x, y: torch.softmax(x @ y, 1), ((256, 256), (256, 256))),
}
"""Functions of some 0.05 to 0.2 ms, and the shapes of their arguments."""


@contextmanager
def busy_cores() -> Iterator[None]:
    """A process on each core that this one may use, which never rests."""
    processes = [
        subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(len(os.sched_getaffinity(0)))
    ]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def compare(seconds: float, *, quiet: bool = False) -> None:
    """Prints a line for each kernel: medians and means, and ours over the better of the others."""
    print("of each the median and the mean")
    print(f"{'':26}  {'ours':>18}  {'one thread':>18}  {'eager':>18}  ratio of medians")
    for name, (function, shapes) in KERNELS.items():
        arguments = [torch.randn(shape) for shape in shapes]
        compiled = lamina.compile(torch.export.export(_Module(function), tuple(arguments)))
        ours, serial, eager = _measure(compiled, function, arguments, seconds, quiet)
        ratio = median(ours) / min(median(serial), median(eager))
        columns = "  ".join(
            f"{format_seconds(median(taken)):>8} {format_seconds(sum(taken) / len(taken)):>9}"
            for taken in (ours, serial, eager)
        )
        print(f"{name:26}  {columns}  {ratio:5.2f}", flush=True)


def _measure(
    compiled: Callable[..., Any],
    function: Callable[..., Any],
    arguments: list[torch.Tensor],
    seconds: float,
    quiet: bool,
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each call: ours, ours on one thread and eager mode, in turns of a tenth of a
    second."""
    threads = torch.get_num_threads()
    kinds = ((compiled, threads), (compiled, 1), (function, threads))
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    for call, count in kinds:
        torch.set_num_threads(count)
        for _ in range(20):
            call(*arguments)
    with busy_cores() if not quiet else _nothing():
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for taken, (call, count) in zip(found, kinds, strict=True):
                torch.set_num_threads(count)
                _turn(lambda call=call: call(*arguments), taken)
    torch.set_num_threads(threads)
    return found


def _turn(call: Callable[[], object], taken: list[float]) -> None:
    begin = time.perf_counter()
    while (start := time.perf_counter()) < begin + 0.1:
        call()
        taken.append(time.perf_counter() - start)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def main() -> None:
    """Reads the options and compares."""
    parser = argparse.ArgumentParser(description="Kernels while other work holds the cores.")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each kernel")
    parser.add_argument("--quiet", action="store_true", help="no busy processes")
    options = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with torch.no_grad():
        compare(options.seconds, quiet=options.quiet)


if __name__ == "__main__":
    main()
