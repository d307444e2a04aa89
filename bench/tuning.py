"""Kernels with the schedules that are chosen, beside the same with tuned ones.

    python -m bench.tuning [PATTERN ...] [--tune S] [--seconds S]

One process, two threads, interleaved calls; best and median. Prints the ratio of the chosen
schedule's best time to the tuned one's (above 1: the chooser missed something) and what tuning
changed, then the geometric mean. Kernels that tuning leaves as they are count 1, and are not timed.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import argparse
from collections.abc import Sequence
from functools import partial
from statistics import geometric_mean

import torch

import lamina
from bench.kernel_table import Kernel
from bench.kernels import exported, named
from bench.timing import Timing, interleave


def _schedules(compiled: lamina.Compiled) -> dict[str, str]:
    return {k.name: k.schedule for k in compiled.kernels if k.schedule is not None}


def measure(kernel: Kernel, tune: float, seconds: float) -> tuple[float, list[str]]:
    """The chosen schedules' time over the tuned ones', and a line for each schedule that differs.

    `tune` are the seconds for trying alternatives, `seconds` those for timing the two.
    """
    inputs = kernel.inputs()
    with torch.no_grad():
        program = exported(kernel, inputs)
        chosen = lamina.compile(program, cache=False)
        tuned = lamina.compile(program, cache=False, tune=tune)
        own, found = _schedules(chosen), _schedules(tuned)
        changed = [f"{n}: {text} -> {found[n]}" for n, text in own.items() if text != found[n]]
        if not changed:
            return 1.0, []
        ways = {"chosen": partial(chosen, *inputs), "tuned": partial(tuned, *inputs)}
        times: dict[str, Timing] = interleave(ways, seconds=seconds)
    ratio = times["chosen"].best / times["tuned"].best
    return ratio, [f"chosen {times['chosen']}, tuned {times['tuned']}", *changed]


def main(given: Sequence[str] | None = None) -> None:
    """Measures and prints the kernels that patterns name, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench.tuning", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="parts of kernels' names, with * and ?")
    parser.add_argument("--tune", type=float, default=3.0)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args(given)
    torch.set_num_threads(2)
    ratios: list[float] = []
    for kernel in named(options.patterns):
        ratio, lines = measure(kernel, options.tune, options.seconds)
        ratios.append(ratio)
        print(f"{ratio:6.3f}  {kernel.name}", *lines, sep="\n        ", flush=True)
    if not ratios:
        parser.error(f"no kernel is called {' or '.join(options.patterns)}")
    mean = geometric_mean(ratios)
    print(f"\n{len(ratios)} kernels: chosen over tuned {mean:.3f} in geometric mean")


if __name__ == "__main__":
    main()
