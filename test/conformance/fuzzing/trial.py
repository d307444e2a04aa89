"""One case of the fuzzer: drawn, run, judged, and made small if it fails."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from typing import Any

import torch
from fuzzing.drawing import draw
from fuzzing.oracle import Oracle, Results
from fuzzing.program import Program
from fuzzing.shrinking import shrunk
from fuzzing.ways import NoProgramError, Run, Way

from lamina.dialects.errors import ArgumentError, LaminaError, UnsupportedError

SHRINK_SECONDS = 30.0


@dataclass(frozen=True)
class Verdict:
    """What became of a program: passed, refused, unexported (no graph from torch), or failed."""

    status: str
    reason: str = ""


def case(seed: int, *, small: bool = True) -> dict[str, Any]:
    """The record of the case with that seed; with `small`, failures are shrunk."""
    way = Way.of(seed)
    program = draw(seed)
    verdict = judge(program, way)
    record: dict[str, Any] = {"status": verdict.status, "reason": verdict.reason, "way": str(way)}
    if verdict.status == "failed" and small:
        deadline = time.monotonic() + SHRINK_SECONDS
        program = shrunk(
            program,
            lambda smaller: judge(smaller, way).status == "failed",
            lambda: time.monotonic() > deadline,
        )
        record["reason"] = judge(program, way).reason
    if verdict.status in ("failed", "refused"):
        record["program"] = program.repro()
    return record


def judge(program: Program, way: Way) -> Verdict:
    """Runs a program one way and compares its results with eager mode's."""
    torch.manual_seed(0)
    oracle = Oracle(program)
    first: Run | None = None
    try:
        for ran in way.results(program):
            judged = oracle if ran.program is program else Oracle(ran.program)
            complaint = judged.complaint(ran.results)
            if complaint is not None:
                return Verdict("failed", f"{ran.what}: {complaint}")
            if first is None:
                first = ran
            elif ran.what.endswith("threads") and not _identical(first.results, ran.results):
                return Verdict("failed", f"{first.what} and {ran.what} differ")
    except NoProgramError as error:
        return Verdict("unexported", _line(error))
    except Exception as error:
        return _of_error(error)
    return Verdict("passed")


def _of_error(error: Exception) -> Verdict:
    from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException

    if isinstance(error, BackendCompilerFailed):
        error = error.inner_exception  # pyright: ignore[reportAssignmentType]
    elif isinstance(error, TorchDynamoException):
        return Verdict("unexported", _line(error))
    if "functionalization encountered a tensor being mutated that has internal" in str(error):
        return Verdict("unexported", _line(error))  # torch refuses `unfold`, as it says
    if isinstance(error, UnsupportedError | ArgumentError):
        return Verdict("refused", _line(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{'/'.join(frames[-1].filename.split('/')[-2:])}:{frames[-1].lineno}"
    kind = "error" if isinstance(error, LaminaError) else "internal error"
    return Verdict("failed", f"{kind}: {type(error).__name__}: {_line(error)} ({place})")


def _identical(one: Results, other: Results) -> bool:
    return all(
        bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(one, other, strict=True)
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
