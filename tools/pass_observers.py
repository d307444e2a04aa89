"""What `lamina-opt` shows of a program between passes, and what it keeps where a pass fails.

`--print-ir-before NAMES`, `--print-ir-after NAMES` and `--print-ir-after-change` print to standard
error, as MLIR does. `--crash-reproducer FILE` writes the program in front of the pass that fails,
with the passes that were to come; `--run-reproducer` runs those of such a file.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline

from lamina.dialects.errors import InputError
from lamina.dialects.nearest_ops import nearest
from lamina.lowering.crash_reproducer import reproducer, written

if TYPE_CHECKING:
    from lamina.tools.semantics import SemanticsObserver

_ALL = "all"
_CONFIGURATION = re.compile(r"// configuration: --passes='([^']*)'\n")


def add_observer_arguments(parser: argparse.ArgumentParser) -> None:
    """The options; see the module."""
    for place in ("before", "after"):
        parser.add_argument(
            f"--print-ir-{place}",
            metavar="NAMES",
            default="",
            help=f"Print the program on stderr {place} passes of these names, with commas; or all",
        )
    parser.add_argument(
        "--print-ir-after-change",
        action="store_true",
        help="Print the program on stderr after each pass that changes it",
    )
    parser.add_argument(
        "--crash-reproducer",
        metavar="FILE",
        help="Where a pass fails, write the program in front of it, and the passes to come",
    )
    parser.add_argument(
        "--verify-semantics",
        action="store_true",
        help="Run the program behind each pass; say what changes, and fail where it matters",
    )
    parser.add_argument(
        "--run-reproducer",
        action="store_true",
        help="Run the passes that a file of --crash-reproducer names",
    )


def semantics_observer(options: argparse.Namespace, name: str) -> SemanticsObserver | None:
    """What runs the program of a file between passes, if that is asked for."""
    if not options.verify_semantics:
        return None
    from lamina.tools.semantics import SemanticsObserver  # NumPy, and the interpreters

    return SemanticsObserver(name)


def reproduced_passes(text: bytes, name: str) -> str:
    """The passes that a reproducer names. Raises InputError for any other file."""
    found = _CONFIGURATION.match(text.decode("utf-8", "replace"))
    if found is None:
        raise InputError(
            f"{name}: error: no reproducer, whose first line is // configuration: --passes='...'"
        )
    return found[1]


def explained(passes: str) -> str:
    """These passes, with one behind each choice of schedules that explains it; `--explain`."""
    specs = list(parse_pipeline(passes))
    if not any(spec.name == "choose-schedule" for spec in specs):
        raise InputError(
            "lamina-opt: error: --explain: no pass chooses schedules; --to bufferized or "
            "-p choose-schedule does"
        )
    chosen = [
        (spec, ArgSpec("explain-schedule", spec.parameters))
        if spec.name == "choose-schedule"
        else (spec,)
        for spec in specs
    ]
    return ",".join(str(spec) for pair in chosen for spec in pair)


class PassObserver:
    """Looks at a program between passes."""

    def __init__(self, options: argparse.Namespace, passes: Sequence[ModulePass]) -> None:
        """InputError for names of passes that are not among `passes`."""
        self._options = options
        self._passes = list(passes)
        self._names = {
            place: self._named(place, getattr(options, f"print_ir_{place}"))
            for place in ("before", "after")
        }
        self._text: str | None = None
        self._at = 0

    def between(self, ran: ModulePass | None, module: ModuleOp, coming: ModulePass | None) -> None:
        """Prints what is asked for; remembers the program in front of the next pass."""
        if ran is not None:
            self._at += 1
        else:
            self._at = 0
        text = str(module) if self._is_looking else None
        if (ran is not None and self._wants("after", ran)) or (
            ran is not None and self._options.print_ir_after_change and text != self._text
        ):
            _print("After", ran, text)
        if coming is not None and self._wants("before", coming):
            _print("Before", coming, text)
        self._text = text

    def keep(self, error: BaseException) -> str | None:
        """Writes the reproducer of a failure, if one is wanted; says how to run it."""
        path = self._options.crash_reproducer
        if path is None or self._text is None:
            return None
        passes = [str(one.pipeline_pass_spec()) for one in self._passes[self._at :]]
        return written(Path(path), reproducer(self._text, passes, error))

    @property
    def _is_looking(self) -> bool:
        changes = self._options.print_ir_after_change
        return bool(changes or self._options.crash_reproducer or any(self._names.values()))

    def _wants(self, place: str, one: ModulePass) -> bool:
        return _ALL in self._names[place] or one.name in self._names[place]

    def _named(self, place: str, text: str) -> set[str]:
        names = {name.strip() for name in text.split(",") if name.strip()}
        known = [one.name for one in self._passes]
        for name in sorted(names - {_ALL}):
            if name not in known:
                near = ", ".join(nearest(name, known) or known[:8]) or "there are none"
                raise InputError(
                    f"lamina-opt: error: --print-ir-{place} {name}: no such pass runs; "
                    f"nearest: {near}"
                )
        return names


def _print(when: str, one: ModulePass, text: str | None) -> None:
    print(f"// -----// IR Dump {when} {one.name} //----- //\n{text}\n", file=sys.stderr)
