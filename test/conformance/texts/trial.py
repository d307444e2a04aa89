"""Judging one text: whatever it is, there is a message, or a result equal to the interpreter's."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.jit import CodegenError
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.loop.rounding import IMPLICIT
from lamina.passes.contracts.entry_attributes import IN_MEMORY, verify_entries
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import layer_of, parse
from lamina.runtime.random_state import manual_seed
from lamina.tools.lamina_run import (
    arguments_of,
    given_slots,
    largest_difference,
)
from lamina.tools.undefined_results import refuse_uncounted, refuse_undefined

INTERPRETED_SECONDS = 2
"""A program that the interpreter does not finish in this time is compiled, and not run: it may be
one that never ends, and a native call cannot be stopped."""

LARGEST_BYTES = 1 << 28
"""Of the arguments and results of a program that is run: to make random ones for more takes seconds
itself, and so does what NumPy makes at once, which no clock interrupts."""

SECONDS = 10.0
"""Of a CPU: what no text may take."""

Verdict = dict[str, Any]


class _TimeIsUp(BaseException):
    """Raised by the clock inside the interpreter."""


@contextmanager
def _clock(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(text: str) -> Verdict:
    """`status` is `refused`, `passed`, `not run` or `failed`.

    What failed has a reason and a place.
    """
    began = time.process_time()
    verdict = _judge(text)
    spent = time.process_time() - began
    if verdict["status"] != "failed" and spent > SECONDS:
        return {"status": "failed", "reason": f"slow: {spent:.0f} s", "place": verdict["step"]}
    return {**verdict, "seconds": round(spent, 2)}


def _judge(text: str) -> Verdict:
    step = "read"
    try:
        module = parse(text)
        step = "print"
        printed = str(module)
        if str(parse(printed)) != printed:
            return {"status": "failed", "reason": "reads otherwise than it prints", "place": step}
        step = "compile"
        compiled = compile_module(module.clone(), cache=False)
        step = "interpret"
        return _run(text, compiled)
    except CodegenError as error:  # LLVM's words name no place: what it refuses is our fault
        return _internal(step, error)
    except LaminaError as error:
        return {"status": "refused", "step": step, "reason": _first_line(error)}
    except MemoryError as error:
        if str(error).startswith("no memory for"):  # asked for at one place, which says how much
            return {"status": "refused", "step": step, "reason": str(error)}
        return _internal(step, error)
    except Exception as error:
        return _internal(step, error)


def _run(text: str, compiled: Compiled) -> Verdict:
    """Interpreted first: a program that does not end, or leaves its memory, is not run."""
    module = parse(text)
    verify_entries(module, layer_of(module))
    slots = given_slots(module, "<text>")
    held = [*slots, *compiled.outputs]
    if sum(prod(slot.shape) * slot.numpy_dtype.itemsize for slot in held) > LARGEST_BYTES:
        return {"status": "not run", "step": "interpret"}
    try:
        arrays = arguments_of(slots, [], seed=0)
        with _clock(INTERPRETED_SECONDS):
            expected = run_module(module, [array.copy() for array in arrays.values()])
    except (_TimeIsUp, MemoryError):
        return {"status": "not run", "step": "interpret"}
    try:
        try:
            _compare(module, compiled, arrays, expected)
        except InputError:
            if IMPLICIT not in text:
                raise
            # The interpreter rounds in places that code may leave out (`elide-rounding`).
            rounded = compile_module(module.clone(), cache=False, rounding="eager")
            _compare(module, rounded, arrays, expected)
    except InputError as error:
        refuse_uncounted(module, arrays, partial(_compare_again, module, compiled), error)
        refuse_undefined(module, arrays, error)
        return {"status": "failed", "reason": f"wrong: {error}", "place": layer_of(module)}
    return {"status": "passed", "step": "run"}


def _compare(
    module: ModuleOp, compiled: Compiled, arrays: dict[str, Any], expected: list[Any]
) -> None:
    """Runs a program; raises InputError for results other than those expected."""
    manual_seed(0)  # programs share a state, and the interpreter starts at this one
    inputs = [arrays[slot.name].copy() for slot in compiled.inputs]
    results: Any = compiled(*inputs)
    results = list(results) if isinstance(results, tuple) else [results]
    if layer_of(module) in IN_MEMORY:
        results = [
            _as_written(ours, np.asarray(theirs))
            for ours, theirs in zip(results, expected, strict=False)
        ]
    largest_difference(compiled.outputs, results, expected)


def _compare_again(module: ModuleOp, compiled: Compiled, arrays: dict[str, Any]) -> None:
    """The same of other arguments."""
    with _clock(INTERPRETED_SECONDS):
        expected = run_module(module, [array.copy() for array in arrays.values()])
    _compare(module, compiled, arrays, expected)


def _as_written(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Our result, with the interpreter's elements that no op wrote, which are all bits set."""
    if ours.shape != theirs.shape:
        return ours
    size = max(theirs.itemsize, 1)
    unwritten = np.ascontiguousarray(theirs).view(np.uint8).reshape(*theirs.shape, size) == 255
    untouched = unwritten.all(-1) if theirs.dtype != np.bool_ else theirs
    return np.where(untouched, theirs, ours)


def _internal(step: str, error: Exception) -> Verdict:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "site-packages" not in f.filename] or list(frames)
    place = f"{'/'.join(ours[-1].filename.split('/')[-2:])}:{ours[-1].lineno}"
    reason = f"{step}: {type(error).__name__}: {_first_line(error)}"
    return {"status": "failed", "reason": reason, "place": place}


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
