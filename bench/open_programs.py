"""Programs with open sizes through `torch.compile(dynamic=True)`, beside Inductor.

    python -m bench.open_programs [--only REGEX] [--seconds S] [--threads N] [--limit FACTOR]
    python -m bench.open_programs --threads 1 --clock cpu     # for cores that have other work
    python -m bench.open_programs --check                     # results alone, at more sizes

All sizes of the arguments are open, in both backends. Each program is called with two sets of sizes
first, then with those that are timed, so that nothing is compiled while it is: its calls take turns
in one process, two threads unless told otherwise. A line has our best time in parts of Inductor's
for each set of sizes, the worst in front, then both times. What differs from eager mode is marked,
and makes the exit code 1.

With `--check` results are compared with eager mode at sizes with 0, 1, 2, 3 and 5 among them, too,
each behind a call with the largest sizes whose numbers are all NaN. Rows are those of the tables
`bench.open_*_table`, one for each family.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from bench.dynamic_kernels import BACKENDS, BEHIND, print_summary
from bench.open_graph_table import GRAPH_PROGRAMS
from bench.open_head_table import HEAD_PROGRAMS
from bench.open_image_table import IMAGE_PROGRAMS
from bench.open_program_table import Inputs, OpenProgram, Sizes
from bench.open_row_table import ROW_PROGRAMS
from bench.open_sound_table import SOUND_PROGRAMS
from bench.open_text_table import TEXT_PROGRAMS
from bench.timing import CLOCKS, Clock, Timing, format_seconds, interleave

PROGRAMS = (
    *IMAGE_PROGRAMS,
    *HEAD_PROGRAMS,
    *SOUND_PROGRAMS,
    *TEXT_PROGRAMS,
    *ROW_PROGRAMS,
    *GRAPH_PROGRAMS,
)
TOLERANCE, HALF_TOLERANCE = 1e-4, 2e-2
"""Of results, relative and absolute. The latter is for arguments in f16 or bf16: a few of their
roundings, one of bf16 being 0.004 of a number."""
HALVES = (torch.bfloat16, torch.float16)
SMALL_SIZES = (0, 1, 2, 3, 5)
"""Each takes the place of each size in `--check`."""


@dataclass(frozen=True)
class Call:
    """What one set of sizes took in each backend, and how its result differs, if it does."""

    sizes: Sizes
    timings: dict[str, Timing]
    wrong: str

    @property
    def factor(self) -> float:
        """Our best time in parts of Inductor's: below 1, Lamina is faster."""
        return self.timings["lamina"].best / self.timings["inductor"].best

    def __str__(self) -> str:
        times = "/".join(format_seconds(self.timings[b].best) for b in BACKENDS)
        return f"{times} {self.wrong}".strip()


def difference(actual: Any, inputs: Inputs, module: torch.nn.Module) -> str:
    """How a result differs from eager mode's, in a few words; nothing if it does not."""
    tolerance = HALF_TOLERANCE if any(x.dtype in HALVES for x in inputs) else TOLERANCE
    try:
        torch.testing.assert_close(
            actual, module(*inputs), rtol=tolerance, atol=tolerance, equal_nan=True
        )
    except AssertionError as error:
        return f"WRONG: {str(error).partition(chr(10))[0][:90]}"
    return ""


def measure(program: OpenProgram, seconds: float, clock: Clock) -> list[Call]:
    """A call for each of the sizes that are timed, for about so many seconds each."""
    torch.manual_seed(0)
    torch.compiler.reset()
    module = program.module()
    functions = {b: torch.compile(module, backend=b, dynamic=True) for b in BACKENDS}
    for function in functions.values():
        for sizes in (*program.first, *program.sizes):
            function(*program.inputs(sizes))
    calls: list[Call] = []
    for sizes in program.sizes:
        inputs = program.inputs(sizes)
        wrong = difference(functions["lamina"](*inputs), inputs, module)
        timed = {b: partial(function, *inputs) for b, function in functions.items()}
        calls.append(Call(sizes, interleave(timed, seconds=seconds, clock=clock), wrong))
    return calls


def compare(programs: Sequence[OpenProgram], seconds: float, limit: float, clock: Clock) -> int:
    """Prints a line for each program, then a summary; returns how many have wrong results."""
    ratios: dict[str, float] = {}
    wrong = 0
    for program in programs:
        with torch.no_grad():
            calls = measure(program, seconds, clock)
        wrong += any(call.wrong for call in calls)
        for call in calls:
            ratios[f"{program.name}, {'x'.join(map(str, call.sizes))}"] = call.factor
        factors = " ".join(f"{call.factor:5.2f}" for call in calls)
        worst = max(call.factor for call in calls)
        times = ", ".join(map(str, calls))
        print(f"{worst:6.2f}  {program.name:26} {factors}  {times}", flush=True)
    print_summary(ratios, limit)
    return wrong


def sizes_to_check(program: OpenProgram) -> Iterator[Sizes]:
    """Its own sizes, those with each of `SMALL_SIZES` in the place of each, and its own again."""
    yield from program.sizes
    for place in range(len(program.sizes[0])):
        for size in SMALL_SIZES:
            for sizes in program.sizes[:2]:
                yield (*sizes[:place], size, *sizes[place + 1 :])
    yield tuple(1 for _ in program.sizes[0])
    yield from program.sizes


def check(program: OpenProgram) -> list[str]:
    """Messages about what differs from eager mode, or fails where eager mode does not."""
    torch.manual_seed(0)
    torch.compiler.reset()
    module = program.module()
    function = torch.compile(module, backend="lamina", dynamic=True)
    for sizes in program.first:
        function(*program.inputs(sizes))
    largest = program.inputs(
        tuple(max(s) for s in zip(*program.sizes, *program.first, strict=True))
    )
    spoilt = tuple(
        torch.full_like(x, float("nan")) if x.is_floating_point() else x for x in largest
    )
    found: list[str] = []
    for sizes in sizes_to_check(program):
        try:
            inputs = program.inputs(sizes)
            module(*inputs)
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError):
            continue  # no sizes of this program
        function(*spoilt)
        try:
            wrong = difference(function(*inputs), inputs, module)
        except Exception as error:  # whatever it is, eager mode has a result
            wrong = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:90]}"
        if wrong:
            found.append(f"{'x'.join(map(str, sizes))}: {wrong}")
    return found


def check_all(programs: Sequence[OpenProgram]) -> int:
    """Prints what is wrong of each program; returns how many have something."""
    wrong = 0
    for program in programs:
        with torch.no_grad():
            found = check(program)
        wrong += bool(found)
        print(f"{program.name:26} {'; '.join(found) or 'as eager mode'}", flush=True)
    return wrong


def main() -> None:
    """Reads the options and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_programs", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="of names")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each set of sizes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--limit", type=float, default=BEHIND, help="above it a call is behind")
    parser.add_argument("--check", action="store_true", help="compare results, time nothing")
    options = parser.parse_args()
    chosen = [program for program in PROGRAMS if re.search(options.only, program.name)]
    if not chosen:
        parser.error(f"no program is named like {options.only}")
    torch.set_num_threads(options.threads)
    torch._dynamo.config.recompile_limit = 64
    if options.check:
        sys.exit(1 if check_all(chosen) else 0)
    clock = CLOCKS[options.clock]
    sys.exit(1 if compare(chosen, options.seconds, options.limit, clock) else 0)


if __name__ == "__main__":
    main()
