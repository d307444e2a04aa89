"""Judging one schedule of a kernel: refused where it stands, or as right as the interpreter.

It is given as the argument of `lamina.compile` and in the program's text, which are to agree.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from guarded_calls import call_guarded
from schedules.perturbing import Entry, Schedule, perturbed
from schedules.perturbing import text_of as schedule_text
from schedules.programs import text_of
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.passes.schedule.schedule_texts import entries_of, kernels_by_name, parse_schedule
from lamina.runtime.compile import compile_module
from lamina.runtime.entry import argument_slots, function_named
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower, parse
from lamina.tools.lamina_run import arguments_of, largest_difference

SECONDS = 10.0
"""Of a CPU: what no schedule may take."""
LONGEST_MESSAGE = 600
OTHERS = ("chain", "softmax", "product", "sort", "transpose", "linear of bf16")
"""Programs whose schedules are given to kernels of other programs."""

Case = tuple[str, Schedule]
"""A kernel's name and the schedule that it is given."""


class Trial:
    """A program for one target: its kernels' schedules, arguments, and what it computes."""

    def __init__(self, name: str, target: str) -> None:
        self.name, self.target = name, Target.parse(target)
        self.module = parse(text_of(name))
        main = function_named(self.module, "main")
        assert main is not None
        slots = argument_slots(main)
        self.arrays = arguments_of(slots, [], seed=0)
        self.constants = {s.name: self.arrays[s.name] for s in slots if s.kind in CONSTANT_KINDS}
        self.inputs = [a for n, a in self.arrays.items() if n not in self.constants]
        self.wanted = run_module(self.module.clone(), [a.copy() for a in self.arrays.values()])
        self.bufferized = self.module.clone()
        lower(self.bufferized, "aten", "bufferized", self.target)

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The chosen schedule of each kernel."""
        return {name: _entries(kernel) for name, kernel in kernels_by_name(self.bufferized).items()}

    def cases(self) -> Iterator[Case]:
        """Every schedule that a kernel of the program is tried with, always in the same order."""
        others = [s for n in OTHERS if n != self.name for s in _of(n).schedules.values()]
        for kernel, schedule in self.schedules.items():
            for other in perturbed(schedule, others, f"{self.name} {kernel}"):
                yield kernel, other

    def judge(self, case: Case, *, in_text: bool = True) -> dict[str, Any]:
        """`status` is `refused`, `passed` or `failed`; what is not passed has a reason.

        Without `in_text` it is given as an argument alone.
        """
        began = time.process_time()
        verdict = self._judge(*case, in_text=in_text)
        spent = time.process_time() - began
        if verdict["status"] != "failed" and spent > SECONDS:
            return {"status": "failed", "reason": f"slow: {spent:.0f} s"}
        return verdict

    def _judge(self, kernel: str, schedule: Schedule, *, in_text: bool) -> dict[str, Any]:
        given = {kernel: schedule_text(schedule)}
        text = self.with_text(kernel, schedule) if in_text else None
        loops = None if text is None else _loops(text, self.target)
        if isinstance(loops, Exception) and not isinstance(loops, LaminaError):
            return _internal("text", loops)
        try:
            compiled = compile_module(
                (self.module if self.constants else self.bufferized).clone(),
                target=self.target,
                constants=self.constants,
                cache=False,
                schedules=given,
            )
        except LaminaError as error:
            if isinstance(loops, str):
                return _failed(f"only schedules= refuses: {error}")
            return _refused(kernel, error, loops)
        except Exception as error:
            return _internal("schedules", error)
        if isinstance(loops, LaminaError):
            return _failed(f"only the text is refused: {loops}")
        chosen = {own.name: own for own in compiled.kernels}  # none of those that set up constants
        try:
            return self._lost(schedule, chosen.get(kernel)) or self._run(compiled)
        except Exception as error:
            return _internal("run", error)

    def with_text(self, kernel: str, schedule: Schedule) -> str | None:
        """The program with the schedule in its text; None if the kernel has other entries."""
        module = self.bufferized.clone()
        function = kernels_by_name(module)[kernel]
        own = entries_of(function)
        if len(own) != len(schedule):
            return None
        for number, (owner, _) in enumerate(own):
            if owner is not function:
                owner.attributes[SCHEDULE] = StringAttr(f"entry {number}")
        parts = sum(owner is function for owner, _ in own)
        names = [StringAttr(f"entry {number}") for number in range(parts)]
        function.attributes[SCHEDULE] = ArrayAttr(names)
        text = str(module)
        return re.sub(r'"entry (\d+)"', lambda found: schedule[int(found[1])].text, text)

    def _lost(self, schedule: Schedule, kernel: Any) -> dict[str, Any] | None:
        """A failure if a clause that was given is not that of the kernel."""
        if kernel is None:
            return None
        found = parse_schedule(kernel.schedule, Context())
        for entry, own in zip(schedule, found, strict=False):
            texts = own.data.texts()  # pyright: ignore[reportAttributeAccessIssue]
            for name, text in entry.clauses.items():
                if texts.get(name) != text:
                    return _failed(f"{text} has become {texts.get(name)}")
        return None

    def _run(self, compiled: Any) -> dict[str, Any]:
        if not compiled.runs_here:
            loops = parse(compiled.ir("scheduled"))
            results: Any = run_module(loops, [array.copy() for array in self.arrays.values()])
        else:
            results = compiled(*(array.copy() for array in self.inputs))
        results = list(results) if isinstance(results, tuple | list) else [results]
        try:
            largest_difference(compiled.outputs, results, self.wanted)
        except InputError as error:
            return _failed(f"wrong: {error}")
        if not compiled.runs_here:
            return {"status": "passed"}
        pairs = zip(self.inputs, compiled.inputs, strict=True)
        stored = [array.view(slot.storage_dtype) for array, slot in pairs]
        guarded = call_guarded(compiled, stored, at_end=True)
        for ours, again in zip(results, guarded, strict=True):
            if ours.shape == again.shape and np.asarray(ours).tobytes() != again.tobytes():
                return _failed("wrong: between guard pages, other results")
        return {"status": "passed"}


@cache
def _of(name: str) -> Trial:
    return Trial(name, "x86-64-v3")


@cache
def trial(name: str, target: str) -> Trial:
    """The program of that name for a target, made once in a process."""
    return Trial(name, target)


def _entries(kernel: FuncOp) -> Schedule:
    return tuple(
        Entry(
            attribute.name,
            attribute.data.texts(),
            tuple(owner.extents) if isinstance(owner, GenericOp) else (),
        )
        for owner, attribute in entries_of(kernel)
    )


def _loops(text: str, target: Target) -> str | Exception:
    """The loops that a program in text becomes, or why it becomes none."""
    try:
        module = parse(text)
        lower(module, "bufferized", "scheduled", target)
        return str(module)
    except Exception as error:
        return error


def _refused(kernel: str, error: Exception, in_text: Exception | str | None) -> dict[str, Any]:
    """A refusal, or a failure if it does not say where, or what."""
    for where, message in (("schedules: '", error), ("<text>:", in_text)):
        if message is None:
            continue
        text = str(message)
        if not text.startswith(where) or ("loop." not in text and "clause" not in text):
            return _failed(f"refused without a place: {text[:200]}")
        if len(text) > LONGEST_MESSAGE:
            return _failed(f"a long message: {text[:200]}")
    return {"status": "refused", "reason": " ".join(str(error).split())}


def _failed(reason: str) -> dict[str, Any]:
    return {"status": "failed", "reason": reason}


def _internal(step: str, error: Exception) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "site-packages" not in f.filename] or list(frames)
    place = f"{'/'.join(ours[-1].filename.split('/')[-2:])}:{ours[-1].lineno}"
    words = " ".join(str(error).split())[:160]
    return {"status": "failed", "reason": f"{step}: {place}: {type(error).__name__}: {words}"}
