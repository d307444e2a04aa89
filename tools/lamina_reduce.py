"""`lamina-reduce`: a program as small as it gets while a test command still succeeds on it.

As llvm-reduce has it: the command is run with the name of a file, and exits with 0 if the program
in it is as interesting as the first one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from lamina.dialects.errors import InputError, LaminaError
from lamina.passes.contracts.verify_program import verify_program
from lamina.tools.extension_files import add_load_argument, run_extended
from lamina.tools.reductions import (
    removable_ops,
    with_fewer_arguments,
    with_fewer_attributes,
    with_fewer_results,
    without_ops,
)
from lamina.tools.size_reductions import with_smaller_sizes
from lamina.tools.source_files import FILES, add_sizes_argument, read_source

Interesting = Callable[[ModuleOp], bool]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code, 1 for bad input."""
    return run_extended("lamina-reduce", arguments, lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lamina-reduce",
        description=f"Take what is not needed out of {FILES} while a command still succeeds.",
        epilog="Example: lamina-reduce bad.mlir --test '! lamina-run --check' -o small.mlir",
    )
    add = parser.add_argument
    add("file", help="the program; - for textual IR from standard input")
    add(
        "--test",
        required=True,
        metavar="COMMAND",
        help="a shell command; with a file's name behind it, it exits with 0 for what is to stay",
    )
    add("-o", "--output", metavar="FILE", help="where the result goes (default: standard output)")
    add("--timeout", type=float, default=60, metavar="SECONDS", help="of each test (default 60)")
    add("--limit", type=float, default=600, metavar="SECONDS", help="of all of them (default 600)")
    add_sizes_argument(parser)
    add_load_argument(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.timeout <= 0 or options.limit <= 0:
        raise InputError("lamina-reduce: error: --timeout and --limit are seconds, more than 0")
    module = read_source(options.file, options.sizes).module
    with tempfile.TemporaryDirectory(prefix="lamina-reduce-") as folder:
        tester = Tester(options.test, Path(folder), options.timeout)
        if not tester.is_interesting(module):
            raise InputError(
                f"lamina-reduce: error: '{options.test}' does not exit with 0 for {options.file} "
                "as it is; it is run by the shell, with the name of a file behind it"
            )
        before = len(removable_ops(module))
        deadline = time.monotonic() + options.limit
        smaller = reduced(module, tester.is_interesting, lambda: time.monotonic() > deadline)
    text = str(smaller) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text)
    left = len(removable_ops(smaller))
    print(f"{left} of {before} ops are left after {tester.count} tests", file=sys.stderr)


class Tester:
    """Runs the test command on programs that verify."""

    def __init__(self, command: str, folder: Path, timeout: float) -> None:
        self._command = command
        self._path = folder / "program.mlir"
        self._timeout = timeout
        self.count = 0

    def is_interesting(self, module: ModuleOp) -> bool:
        """Whether the command exits with 0; too late is no."""
        try:
            verify_program(module)
        except (LaminaError, DiagnosticException):
            return False
        self._path.write_text(str(module) + "\n")
        self.count += 1
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", f'{self._command} "$1"', "sh", str(self._path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self._timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def reduced(module: ModuleOp, is_interesting: Interesting, is_late: Callable[[], bool]) -> ModuleOp:
    """The smallest program found that is interesting still: no single step makes it smaller.

    Results go first, as ops that only they read go with them; then ops in halves, quarters, ...
    single ones; sizes are halved last (Zeller and Hildebrandt, "Simplifying and Isolating
    Failure-Inducing Input", 2002).
    """
    steps: tuple[Callable[[ModuleOp], Iterable[ModuleOp]], ...] = (
        with_fewer_results,
        _without_runs_of_ops,
        with_fewer_arguments,
        with_fewer_attributes,
        with_smaller_sizes,
    )
    going = True
    while going and not is_late():
        going = False
        for step in steps:
            while (smaller := _first(step(module), is_interesting, is_late)) is not None:
                module, going = smaller, True
    return module


def _first(
    candidates: Iterable[ModuleOp], is_interesting: Interesting, is_late: Callable[[], bool]
) -> ModuleOp | None:
    for candidate in candidates:
        if is_late():
            return None
        if is_interesting(candidate):
            return candidate
    return None


def _without_runs_of_ops(module: ModuleOp) -> Iterable[ModuleOp]:
    """Each without a run of neighbouring ops, long runs first, last ones first."""
    count = len(removable_ops(module))
    length = count
    while length:
        for begin in range(count - length, -length, -length):
            smaller = without_ops(module, range(max(begin, 0), begin + length))
            if smaller is not None:
                yield smaller
        length //= 2


if __name__ == "__main__":
    sys.exit(main())
