"""Tuning: schedules beside the chosen ones, measured on this machine within a budget of seconds.

Each trial changes one clause of every kernel that has something left to try, compiles the program
once, and times each kernel in its place; a kernel keeps what made it faster. In the end what was
kept is measured again beside what was chosen, in turn, and must win by `LEAST_GAIN`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError, UnsupportedError
from lamina.dialects.modifications import modification
from lamina.dialects.records import mutable_record
from lamina.passes.schedule.alternatives import other_schedules
from lamina.passes.schedule.given_schedules import verify_given
from lamina.passes.schedule.schedule_texts import give_schedules, parse_schedule, schedule_texts
from lamina.runtime.compiled import Compiled
from lamina.runtime.disk_cache import cache_key, usable_cache
from lamina.runtime.entry import Slot, entry_of, function_named
from lamina.runtime.kernel_timing import KernelTimer, pointers_for
from lamina.runtime.layers import layer_of
from lamina.runtime.lowering_options import LoweringOptions

LEAST_GAIN = 0.03
"""Part of a kernel's time that a change must save: less is noise."""
REPEATS = 10
"""Runs of each kernel in a trial; the least counts."""
SEARCH_SHARE = 0.75
"""Part of the budget for trials; the rest is for the last comparison."""
FINAL_REPEATS = 30
"""Runs of each kernel in the last comparison."""


Report = Callable[[str], None]


@mutable_record
class _Kernel:
    """What is known of one kernel: its best schedule, that schedule's time, what is left to try."""

    best: str
    seconds: float
    queue: Iterator[str] = field(default_factory=lambda: iter(()))
    is_done: bool = False


def tune(
    module: ModuleOp,
    compiled: Compiled,
    target: Target,
    seconds: float,
    report: Report,
    options: LoweringOptions,
) -> dict[str, str]:
    """Schedules, by kernel, that are faster than the chosen ones; kernels left out keep those.

    `module` is at the layer `bufferized`, and `compiled` what was made of it, which runs on
    random numbers (zeros for integers). `report` is called with a line for each trial.
    """
    end = time.perf_counter() + seconds * SEARCH_SHARE
    pointers, _kept = pointers_for(compiled.bound, [_sample(slot) for slot in compiled.inputs])
    trials = _Trials(module, target, pointers, replace(options, schedules={}))
    chosen = schedule_texts(module)
    times = trials.measure({}, REPEATS)
    if times is None:
        return {}
    kernels = {name: _Kernel(chosen[name], times[name]) for name in chosen if name in times}
    for kernel in kernels.values():
        kernel.queue = _alternatives(kernel.best)
    number = 0
    while time.perf_counter() < end:
        tried = _next_trial(trials, kernels)
        if not tried:
            break
        number += 1
        best = {name: kernel.best for name, kernel in kernels.items()}
        measured = trials.measure({**best, **tried}, REPEATS)
        for name, text in tried.items() if measured is not None else ():
            assert measured is not None
            kernel = kernels[name]
            if measured[name] < kernel.seconds * (1 - LEAST_GAIN):
                kernel.best, kernel.seconds = text, measured[name]
                kernel.queue = _alternatives(text)
        total, now = sum(times.values()), sum(kernel.seconds for kernel in kernels.values())
        left = max(0.0, end - time.perf_counter())
        report(f"trial {number}: {now * 1e6:.1f} us of {total * 1e6:.1f}, {left:.0f} s left")
    found = {name: k.best for name, k in kernels.items() if k.best != chosen[name]}
    return _confirmed(trials, found)


def _confirmed(trials: _Trials, found: Mapping[str, str]) -> dict[str, str]:
    """Those that win again, measured in turn with what was chosen."""
    if not found:
        return {}
    before = after = None
    for _ in range(2):
        one, other = trials.measure({}, FINAL_REPEATS), trials.measure(found, FINAL_REPEATS)
        if one is None or other is None:
            return {}
        before = one if before is None else {n: min(before[n], one[n]) for n in one}
        after = other if after is None else {n: min(after[n], other[n]) for n in other}
    assert before is not None and after is not None
    return {n: text for n, text in found.items() if after[n] < before[n] * (1 - LEAST_GAIN)}


def _next_trial(trials: _Trials, kernels: Mapping[str, _Kernel]) -> dict[str, str]:
    """The next legal schedule of each kernel that has one left."""
    tried: dict[str, str] = {}
    for name, kernel in kernels.items():
        for text in kernel.queue:
            if trials.is_legal(name, text):
                tried[name] = text
                break
    return tried


def _alternatives(text: str) -> Iterator[str]:
    entries = list(parse_schedule(text, Context()))
    for number, entry in enumerate(entries):
        for _, other in other_schedules(entry):
            yield str(ArrayAttr([*entries[:number], other, *entries[number + 1 :]]))


class _Trials:
    """Makes and times variants of one program."""

    def __init__(
        self, module: ModuleOp, target: Target, pointers: list[int], options: LoweringOptions
    ) -> None:
        self._module, self._target, self._pointers = module, target, pointers
        self._options = options
        self._slots = _slots(self._lowered({}))

    def is_legal(self, name: str, text: str) -> bool:
        """Whether a kernel may have that schedule, in the memory that there is."""
        kernel = function_named(self._module, name)
        assert kernel is not None
        alone = ModuleOp([kernel.clone()])
        try:
            give_schedules(alone, {name: text}, Context())
            verify_given(alone, {name: text}, self._target)
        except (InputError, UnsupportedError):
            return False
        return True

    def measure(self, schedules: Mapping[str, str], repeats: int) -> dict[str, float] | None:
        """Least seconds of each kernel; None where the variant cannot be made or run."""
        try:
            lowered = self._lowered(schedules)
            if _slots(lowered) != self._slots:
                return None
            return KernelTimer(lowered, self._target).measure(self._pointers, repeats)
        except LaminaError:
            return None

    def _lowered(self, schedules: Mapping[str, str]) -> ModuleOp:
        module = self._module.clone()
        give_schedules(module, schedules, Context())
        self._options.lower(module, "bufferized", "scheduled", self._target)
        return module


def _slots(module: ModuleOp) -> object:
    main = function_named(module, "main")
    assert main is not None
    return entry_of(main).to_json()


def _sample(slot: Slot) -> np.ndarray:
    kind = slot.numpy_dtype
    if kind.kind in "fc" or slot.dtype == "bf16":
        return np.random.default_rng(0).standard_normal(slot.shape).astype(kind)
    return np.zeros(slot.shape, kind)


def tuned_schedules(
    module: ModuleOp,
    compiled: Compiled,
    target: Target,
    seconds: float,
    *,
    cache: bool,
    options: LoweringOptions,
) -> dict[str, str]:
    """What `tune` finds for a program at any layer.

    It comes from the disk cache where it was looked for before, for as many seconds at least.
    """
    lowered = module.clone()
    options.lower(lowered, layer_of(lowered), "bufferized", target)
    # No op of an extension is left at this layer: the program says which had a part in it.
    lowering = options.key_for(module)
    disk = usable_cache() if cache and modification() is None and lowering is not None else None
    key = cache_key("tuned", str(lowered), target.key(), lowering or "")
    if disk is not None and (found := disk.get(key)) is not None:
        known = json.loads(found[1])
        if known["seconds"] >= seconds:
            return known["schedules"]
    made = tune(lowered, compiled, target, seconds, _print, options)
    if disk is not None:
        disk.put(key, b"", json.dumps({"seconds": seconds, "schedules": made}))
    return made


def _print(line: str) -> None:
    ends = "\r" if sys.stderr.isatty() else "\n"
    print(f"lamina: tuning: {line}", end=ends, file=sys.stderr, flush=True)
