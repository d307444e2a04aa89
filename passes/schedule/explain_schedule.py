"""`explain-schedule`: notes on each kernel what its schedule is estimated to take, and others.

Others differ from it in one clause of one part or nest (`alternatives`): an estimate stands there
for each, or why the kernel cannot have it. `lamina.considered` has them as texts, for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.records import record
from lamina.passes.cost.loop_estimate import LoopEstimate, estimate_loops
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.schedule.alternatives import other_schedules
from lamina.passes.schedule.apply_schedule import apply_schedule
from lamina.passes.schedule.choose_schedule import choose_kernel
from lamina.passes.schedule.schedule_texts import entries_of, with_entry

CONSIDERED = "lamina.considered"
"""Attribute of kernels: a text for the schedule that stands there and for each considered."""


@record
class ExplainSchedulePass(ModulePass):
    """Note on each kernel what its schedule and others are estimated to take on a target."""

    name = "explain-schedule"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        note_considered(op, Target.parse(self.target))


def note_considered(module: ModuleOp, target: Target) -> None:
    """Set `lamina.considered` on every kernel on buffers."""
    for function in kernel_functions(module):
        said = [StringAttr(str(entry)) for entry in considered(function, target)]
        if said:
            function.attributes[CONSIDERED] = ArrayAttr(said)


@record
class Considered:
    """A schedule: how it differs from the one that stands there, and its estimate or refusal."""

    change: str
    estimate: LoopEstimate | None
    refusal: str = ""

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.change}: {self.refusal}"
        threads = " on 2 threads" if self.estimate.threads > 1 else ""
        return f"{self.change}: {self.estimate.nanoseconds / 1000:.3g} us{threads}"


def considered(kernel: func.FuncOp, target: Target) -> list[Considered]:
    """The schedule of a kernel on buffers, and what differs from it in one clause."""
    whole = kernel.clone()
    if not entries_of(whole):
        return []
    choose_kernel(whole, target)
    said = [_tried("as it stands", whole.clone(), target)]
    for change, variant in _variants(whole):
        said.append(_tried(change, variant, target))
    return said


def report(module: ModuleOp) -> str:
    """What `explain-schedule` has noted on the kernels of a module, a line each."""
    lines: list[str] = []
    for function in module.body.block.ops:
        noted = function.attributes.get(CONSIDERED)
        if isinstance(function, func.FuncOp) and isinstance(noted, ArrayAttr):
            lines.append(f"{function.sym_name.data}:")
            lines += [f"  {entry.data}" for entry in noted if isinstance(entry, StringAttr)]
    return "\n".join(lines)


def _tried(change: str, kernel: func.FuncOp, target: Target) -> Considered:
    try:
        kernel.verify()
        choose_kernel(kernel, target)
        apply_schedule(kernel)
    except (InputError, UnsupportedError, VerifyException) as error:
        reason = str(error).splitlines()[0].partition("error: ")
        return Considered(change, None, reason[2] or reason[0])
    return Considered(change, estimate_loops(kernel, target))


def _variants(kernel: func.FuncOp) -> Iterator[tuple[str, func.FuncOp]]:
    """Copies of the kernel with one clause of one of its schedules changed."""
    numbers = {True: count(), False: count()}
    for place, (owner, schedule) in enumerate(entries_of(kernel)):
        name = f"{'part' if owner is kernel else 'nest'} {next(numbers[owner is kernel])}"
        for change, other in other_schedules(schedule):
            yield f"{name}, {change}", with_entry(kernel, place, other)
