"""Refusing schedules that say more scratch than a task may take (`SCRATCH_BYTES`).

What a task takes shows when a schedule is carried out: that is tried on a copy of a kernel whose
text has a schedule. What the kernel takes whatever is said, as the rows that fusion keeps, is never
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.dialects import func

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.dialects.records import record
from lamina.passes.cost.scratch_budget import SCRATCH_BYTES
from lamina.passes.memory.plan_scratch import stack_bytes
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.schedule_texts import entries_of, with_entry

Choose = Callable[[func.FuncOp], None]
"""Completes the schedule of a kernel in place."""

TRIED = 64
"""Sizes below one that should fit that are tried, as not each is legal."""


def verify_scratch(kernel: func.FuncOp, choose: Choose) -> None:
    """Raises InputError for the clause by which a kernel, scheduled as given, takes too much."""
    takes = _taken(kernel.clone(), choose)
    if takes is None or takes <= SCRATCH_BYTES:
        return
    room = max(SCRATCH_BYTES, _taken(_open(kernel), choose) or 0)
    if takes > room:
        raise _refusal(_Trial(kernel, choose, takes, room))


@record
class _Trial:
    """A kernel as given, the bytes that it takes, and those that it may."""

    kernel: func.FuncOp
    choose: Choose
    takes: int
    room: int

    def taken_with(self, place: int, **clauses: Any) -> int | None:
        """Bytes with clauses of one of its schedules said anew; None where that is not legal."""
        _, schedule = entries_of(self.kernel)[place]
        other = type(schedule)(replace(schedule.data, **clauses))
        return _taken(with_entry(self.kernel, place, other), self.choose)


def _refusal(trial: _Trial) -> InputError:
    """It names the clause without which the kernel takes the least."""
    found: list[tuple[int, int, str]] = []
    entries = entries_of(trial.kernel)
    for place, (_, schedule) in enumerate(entries):
        for name in schedule.data.texts():
            without = trial.taken_with(place, **{name: None})
            if without is not None and without < trial.takes:
                found.append((without, place, name))
    said = f"a task takes {trial.takes} bytes of scratch, and there are {trial.room}"
    if not found:
        return illegal(trial.kernel, said)
    without, place, name = min(found)
    owner, schedule = entries[place]
    count = _largest(trial, place, name, without)
    fits = f"without the clause it takes {without}"
    if count is not None:
        fits = f"the largest that fits: {_as_text(schedule, name, count)}"
    return illegal(owner, f"{schedule.data.texts()[name]}: {said}; {fits}")


def _largest(trial: _Trial, place: int, name: str, without: int) -> int | None:
    """The largest number of a clause that is legal and fits; None for clauses without a number.

    Scratch grows by as many bytes with each position.
    """
    _, schedule = entries_of(trial.kernel)[place]
    value = getattr(schedule.data, name)
    count = value.count if isinstance(value, By) else value
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    each = max(1, (trial.takes - without) // count)
    half = count // 2
    if half and (taken := trial.taken_with(place, **{name: _sized(value, half)})) is not None:
        each = max(1, (trial.takes - taken) // (count - half))
    most = min(count - 1, count - -(-(trial.takes - trial.room) // each))
    for size in range(most, max(0, most - TRIED), -1):
        taken = trial.taken_with(place, **{name: _sized(value, size)})
        if taken is not None and taken <= trial.room:
            return size
    return None


def _sized(value: Any, count: int) -> Any:
    return By(value.dim, count) if isinstance(value, By) else count


def _as_text(schedule: Any, name: str, count: int) -> str:
    value = getattr(schedule.data, name)
    return replace(schedule.data, **{name: _sized(value, count)}).texts()[name]


def _taken(kernel: func.FuncOp, choose: Choose) -> int | None:
    """Bytes of scratch of a task of the kernel, which is used up; None for what is not legal."""
    # Schedules in texts are few, and what carries them out is many modules.
    from lamina.passes.schedule.apply_schedule import apply_schedule

    try:
        choose(kernel)
        apply_schedule(kernel)
    except (InputError, UnsupportedError):
        return None
    return stack_bytes(kernel)


def _open(kernel: func.FuncOp) -> func.FuncOp:
    """A copy of the kernel without schedules."""
    copy = kernel.clone()
    for op in copy.walk():
        op.attributes.pop(SCHEDULE, None)
    return copy
