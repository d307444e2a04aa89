"""Measures how fast this machine is: `python -m lamina.tools.calibrate`.

The figures go to a file that `Target.host` reads (see `lamina.codegen.calibration`). The machine
should have nothing else to do meanwhile. It takes some ten seconds, and twice as much memory as
the last-level cache has.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from math import inf, sqrt
from pathlib import Path

import numpy as np

from lamina.codegen.calibration import FILE, MEASURED, calibration_path, cpu_name, unfit
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.tools.reporting import run_tool

UNITS = {
    "clock_hz": "cycles a second",
    "arithmetic_ports": "vector operations begun in a cycle",
    "l2_bytes_per_cycle": "bytes read and written in a cycle, in the second-level cache",
    "l3_bytes_per_cycle": "bytes read and written in a cycle, in the last-level cache",
    "memory_bandwidth": "bytes read and written a second, in memory",
    "fork_nanoseconds": "ns to start a team and to wait for its end",
    "barrier_nanoseconds": "ns for a barrier, and to fetch what another core wrote",
}
"""What each figure counts."""

SECONDS = {"cycle": 0.5, "operation": 0.5, "l2": 1.0, "l3": 1.5, "memory": 2.0, "team": 2.0}
"""How long each is measured."""

COPIED_BYTES = 1 << 26
"""A call that copies within a cache moves about so many."""

MEMORY_PART = 8
"""Copies in memory take at most this part of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code."""
    return run_tool("calibrate", lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="calibrate",
        description="Measure this machine for the cost model, in some ten seconds.",
        epilog=f"Programs look for the file where {FILE} says, else in the cache folder.",
    )
    parser.add_argument("--output", metavar="FILE", help="where the figures go")
    parser.add_argument("--print", action="store_true", help="show the figures, and write no file")
    return parser


def _run(options: argparse.Namespace) -> None:
    path = None if options.print else _output(options.output)
    host = _uncalibrated_host()
    found = figures(measure(host))
    print(table(found))
    if path is not None:
        _write(path, file_text(found, cpu_name(host.cpu)))
        print(f"written to {path}")


def _output(given: str | None) -> Path:
    """Where the file goes, which can be written; InputError or OSError if it cannot."""
    path = calibration_path() if given is None else Path(given)
    if path is None:
        raise InputError(f"calibrate: error: no place for the file: give --output or set {FILE}")
    if given is None and FILE not in os.environ:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.name or (path.exists() and not path.is_file()):
        raise InputError(f"calibrate: error: '{path}' is no file that could be replaced")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        error.filename = str(path)
        raise


def _write(path: Path, text: str) -> None:
    """Puts a file where programs that start meanwhile see the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def _uncalibrated_host() -> Target:
    """The host; a file from before is neither needed nor worth a warning."""
    before = os.environ.get(FILE)
    os.environ[FILE] = ""
    try:
        return Target.host()
    finally:
        if before is None:
            del os.environ[FILE]
        else:
            os.environ[FILE] = before


def figures(seconds: Mapping[str, float]) -> dict[str, float]:
    """Fields of `Target` from the seconds that each thing takes that was measured.

    Things are a `cycle`, a vector `operation`, a byte copied in `l2`, `l3` and `memory`, a `fork`
    and a `barrier`; all but the first may be missing. InputError for what no machine takes.
    """
    cycle = seconds["cycle"]
    rates = {
        "clock_hz": ("cycle", 1.0),
        "arithmetic_ports": ("operation", cycle),
        "l2_bytes_per_cycle": ("l2", cycle),
        "l3_bytes_per_cycle": ("l3", cycle),
        "memory_bandwidth": ("memory", 1.0),
    }
    found = {
        field: unit / seconds[thing] if seconds[thing] > 0 else inf
        for field, (thing, unit) in rates.items()
        if thing in seconds
    }
    for thing in ("fork", "barrier"):
        if thing in seconds:  # less than nothing is what a busy machine makes of very little
            found[f"{thing}_nanoseconds"] = max(0.0, 1e9 * seconds[thing])
    for field, value in found.items():
        if reason := unfit(field, value):
            raise InputError(f"calibrate: error: measured {reason}: is the machine busy?")
    return {field: float(f"{value:.4g}") for field, value in found.items()}


def table(found: Mapping[str, float]) -> str:
    """Each figure beside the one that is used where nobody measured."""
    usual = {field.name: field.default for field in fields(Target)}
    lines = [f"{'figure':20} {'measured':>10} {'default':>10}"]
    for name in MEASURED:
        value = f"{found[name]:10.4g}" if name in found else f"{'-':>10}"
        lines.append(f"{name:20} {value} {usual[name]:10.4g}  {UNITS[name]}")
    return "\n".join(lines)


def file_text(found: Mapping[str, float], cpu: str) -> str:
    """The file, which `lamina.codegen.calibration` reads."""
    lines = ["# Measured by `python -m lamina.tools.calibrate`; Lamina's target `host` has these."]
    lines.append(f"cpu = {json.dumps(cpu)}")
    lines += [f"{name} = {value!r}  # {UNITS[name]}" for name, value in found.items()]
    return "\n".join(lines) + "\n"


def measure(target: Target) -> dict[str, float]:
    """Seconds of each thing (see `figures`) on this machine; what it has not is missing."""
    from lamina.tools.machine_programs import (
        CHAIN_CYCLES,
        FMA_ROUNDS,
        chain_text,
        compile_text,
        fma_chains,
        peak_text,
    )

    numbers, state = np.array([0x5DEECE66D, 0xB], np.int64), np.ones(1, np.int64)
    chain = compile_text(chain_text(), 2, target, openmp=False)
    lanes = target.lanes(32)
    factors, sums = np.full((2, lanes), 0.5, np.float32), np.zeros((1, lanes), np.float32)
    peak = compile_text(peak_text(target, 1), 2, target, openmp=False)
    cycles = _best({"": lambda: chain.call("main", _pointers(numbers, state))}, SECONDS["cycle"])
    turns = _best({"": lambda: peak.call("main", _pointers(factors, sums))}, SECONDS["operation"])
    found = {
        "cycle": cycles[""] / CHAIN_CYCLES,
        "operation": turns[""] / (FMA_ROUNDS * fma_chains(target)),
    }
    for name, size in footprints(target, _physical_bytes()).items():
        found[name] = _copy_seconds(target, size, SECONDS[name])
    return found | _team_seconds(target)


def footprints(target: Target, memory: int) -> dict[str, int]:
    """Bytes that a copy reads and writes to be served by a level, on a machine of `memory` bytes.

    Halfway, by ratio, between the sizes of a level and of the one before it; twice the last level
    for memory. Levels that are not there, and a memory without room for that, are missing.
    """
    found: dict[str, int] = {}
    levels = (target.l1d_bytes, target.l2_bytes, target.l3_bytes)
    for name, inner, outer in zip(("l2", "l3"), levels, levels[1:], strict=False):
        if inner < outer:
            found[name] = int(sqrt(inner * outer))
    beyond = min(max(1 << 27, 2 * target.l3_bytes), memory // MEMORY_PART)
    if beyond >= 2 * target.l3_bytes:
        found["memory"] = beyond
    return found


def _physical_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _copy_seconds(target: Target, size: int, seconds: float) -> float:
    """Of each byte read or written, where `size` bytes are touched."""
    from lamina.tools.machine_programs import COPY_UNROLL, compile_text, copy_text

    step = COPY_UNROLL * target.lanes(32)
    count = max(1, size // 8 // step) * step
    rounds = max(1, COPIED_BYTES // (8 * count))
    program = compile_text(copy_text(target, count, rounds), 2, target, openmp=False)
    # Half a page apart: stores to where a load looks for its data soon, by the low bits of the
    # address, would hold it up.
    page = 4096
    memory = np.ones(8 * count + 3 * page, np.uint8)
    first = -memory.ctypes.data % page + memory.ctypes.data
    second = first + -(-4 * count // page) * page + page // 2
    best = _best({"": lambda: program.call("main", [first, second])}, seconds)
    return best[""] / (8 * count * rounds)


def _team_seconds(target: Target) -> dict[str, float]:
    """Of a fork and of a barrier of two threads; nothing where there are no two."""
    from lamina.codegen.openmp import openmp_symbols
    from lamina.tools.machine_programs import (
        TEAM_BODIES,
        TEAM_LANES,
        TEAM_ROUNDS,
        compile_text,
        team_text,
    )

    os.environ["OMP_NUM_THREADS"] = "2"  # read when the runtime is loaded
    if target.cores < 2 or openmp_symbols() is None:
        return {}
    a, b = (np.zeros((2, TEAM_LANES), np.float32) for _ in range(2))
    programs = {
        name: compile_text(team_text(body), 2, target, openmp=True)
        for name, body in TEAM_BODIES.items()
    }
    best = _best(
        {n: lambda p=p: p.call("main", _pointers(a, b)) for n, p in programs.items()},
        SECONDS["team"],
    )
    return {n: (best[n] - best["no team"]) / (2 * TEAM_ROUNDS) for n in ("fork", "barrier")}


def _pointers(*arrays: np.ndarray) -> list[int]:
    return [array.ctypes.data for array in arrays]


def _best(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """The least seconds of a call of each, which take turns for about `seconds`."""
    best = dict.fromkeys(calls, inf)
    for call in calls.values():
        call()
    end = time.perf_counter() + seconds
    while True:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
        if time.perf_counter() >= end:
            return best


if __name__ == "__main__":
    sys.exit(main())
