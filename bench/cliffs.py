"""Programs that once fell behind eager torch by a factor, beside it.

    python -m bench.cliffs [PATTERN ...] [--seconds S] [--threads N] [--limit FACTOR]
    python -m bench.cliffs --threads 1 --clock cpu     # for cores that have other work

One process, two threads unless told otherwise, interleaved calls; best and median of each, and our
time in parts of eager's, by both. Lists the rows above the limit. A program is a row of
`bench.cliff_table`.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

import torch

import lamina
from bench.cliff_table import CLIFFS, Cliff
from bench.timing import CLOCKS, Clock, Timing, interleave

LIMIT = 1.2
"""Parts of eager's time that a row may take."""


@dataclass(frozen=True)
class Row:
    """What one program took, and its largest difference from eager, by the largest value."""

    cliff: Cliff
    ours: Timing
    eager: Timing
    difference: float

    @property
    def factor(self) -> float:
        """Our best time in parts of eager's: below 1, Lamina is faster."""
        return self.ours.best / self.eager.best

    @property
    def median_factor(self) -> float:
        """The same of the medians."""
        return self.ours.median / self.eager.median


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def measure(cliff: Cliff, seconds: float, clock: Clock = CLOCKS["wall"]) -> Row:
    """One row, timed for about so many seconds."""
    torch.manual_seed(0)
    program, inputs = cliff.program(), cliff.inputs()
    compiled = lamina.compile(torch.export.export(_Module(program), inputs))
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(compiled, *inputs),
        "eager": partial(program, *inputs),
    }
    difference = _difference(compiled(*inputs), program(*inputs))
    timings = interleave(calls, seconds=seconds, clock=clock)
    return Row(cliff, timings["ours"], timings["eager"], difference)


def _difference(ours: Any, eager: Any) -> float:
    if isinstance(eager, tuple | list):
        return max(_difference(*both) for both in zip(ours, eager, strict=True))
    if eager.is_complex():
        ours, eager = torch.view_as_real(ours), torch.view_as_real(eager)
    apart = (ours.double() - eager.double()).abs().max()
    return (apart / eager.double().abs().max().clamp(min=1e-30)).item()


def named(patterns: Sequence[str]) -> list[Cliff]:
    """The programs whose names match one of the patterns; all without any."""
    return [c for c in CLIFFS if not patterns or any(fnmatch(c.name, p) for p in patterns)]


def compare(
    chosen: Sequence[Cliff], seconds: float, limit: float, clock: Clock = CLOCKS["wall"]
) -> None:
    """Prints a line for each program, then those above the limit."""
    title = f"{'program':48}{'sizes':22}{'ours, best / median':>22}{'eager':>22}"
    print(f"{title}{'factor':>8}{'median':>8}{'differs':>10}")
    behind: list[Row] = []
    for cliff in chosen:
        with torch.no_grad():
            row = measure(cliff, seconds, clock)
        print(
            f"{cliff.name:48}{cliff.sizes:22}{row.ours!s:>22}{row.eager!s:>22}"
            f"{row.factor:8.2f}{row.median_factor:8.2f}{row.difference:10.1e}",
            flush=True,
        )
        if row.factor > limit:
            behind.append(row)
    print(f"above {limit:g} times eager: {len(behind)} of {len(chosen)}")
    for row in sorted(behind, key=lambda r: -r.factor):
        print(f"  {row.factor:5.2f}  {row.cliff.name}, {row.cliff.sizes}")


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, with * and ?")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--limit", type=float, default=LIMIT)
    options = parser.parse_args()
    chosen = named(options.patterns)
    if not chosen:
        parser.error(f"no program is named like {' or '.join(options.patterns)}")
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    compare(chosen, options.seconds, options.limit, CLOCKS[options.clock])


if __name__ == "__main__":
    main()
