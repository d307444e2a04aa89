"""A kernel's schedule as one text: an array of those of its parts, then those of its nests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from lamina.dialects.errors import InputError
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.schedules import SCHEDULE, NestSchedule, ScheduleAttr
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.op_list import instances_under
from lamina.passes.calls.callee_programs import callee_programs
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.schedule.kernel_parts import parts_of


def entries_of(kernel: func.FuncOp) -> list[tuple[Operation, Any]]:
    """The schedules of a kernel's parts, then those of its nests, each with what has it."""
    parts = kernel.attributes.get(SCHEDULE, ArrayAttr([]))
    assert isinstance(parts, ArrayAttr)
    found: list[tuple[Operation, Any]] = [(kernel, part) for part in parts]
    unsaid = ScheduleAttr(NestSchedule())
    for nest in instances_under(kernel, GenericOp):
        found.append((nest, nest.attributes.get(SCHEDULE, unsaid)))
    return found


def with_entry(kernel: func.FuncOp, place: int, schedule: Attribute) -> func.FuncOp:
    """A copy of a kernel with another one of its schedules, by its place among `entries_of`."""
    copy = kernel.clone()
    entries = entries_of(copy)
    owner, _ = entries[place]
    if owner is copy:
        parts = [part for own, part in entries if own is copy]
        parts[place] = schedule
        schedule = ArrayAttr(parts)
    owner.attributes[SCHEDULE] = schedule
    return copy


def schedule_text(function: func.FuncOp) -> str:
    """The schedule of a kernel on buffers, such as `[#loop.rows<parallel>, #loop.schedule<>]`."""
    return str(ArrayAttr([entry for _, entry in entries_of(function)]))


def schedule_texts(module: ModuleOp) -> dict[str, str]:
    """The schedule of each kernel by its name."""
    return {name: schedule_text(kernel) for name, kernel in kernels_by_name(module).items()}


def place_of_text(kernel: str) -> str:
    """What messages call the text that is given for a kernel of this name."""
    return f"schedules: '{kernel}'"


def entry_places(text: str) -> list[tuple[int, int]]:
    """Line and column of each schedule in the text of a kernel's."""
    return [
        (number, found.start() + 1)
        for number, line in enumerate(text.split("\n"), start=1)
        for found in re.finditer("#loop[.]", line)
    ]


def give_schedules(module: ModuleOp, schedules: Mapping[str, str], context: Context) -> None:
    """Set the schedules of kernels on buffers; `choose-schedule` completes them.

    Raises InputError for a kernel that is not there, and for a text that is no schedule of it.
    """
    kernels = kernels_by_name(module)
    for name, text in schedules.items():
        if name not in kernels:
            near = ", ".join(nearest(name, kernels) or list(kernels)[:8]) or "there are none"
            raise InputError(f"schedules: no kernel is called '{name}'; nearest: {near}")
        if not isinstance(text, str):
            raise InputError(f"schedules: '{name}': a schedule is a text, not {text!r}")
        give_schedule(kernels[name], text, context, name)


def give_schedule(kernel: func.FuncOp, text: str, context: Context, name: str) -> None:
    """Set the schedule of a kernel on buffers, which messages call so.

    Raises InputError for a text that is none of it.
    """
    where = place_of_text(name)
    given = parse_schedule(text, context, where)
    parts = parts_of(kernel)
    nests = instances_under(kernel, GenericOp)
    wanted = [part.kind for part in parts] + [ScheduleAttr] * len(nests)
    entries = list(given)
    fitting = len(entries) == len(wanted) and all(map(isinstance, entries, wanted))
    if not fitting:
        said = (entry.name for entry in entries)
        shown = _shown(kind.name for kind in wanted)
        raise InputError(f"{where}: its schedule is [{shown}], not [{_shown(said)}]")
    kernel.attributes[SCHEDULE] = ArrayAttr(entries[: len(parts)])
    places = entry_places(text)[len(parts) :]
    for nest, entry, place in zip(nests, entries[len(parts) :], places, strict=True):
        nest.attributes[SCHEDULE] = entry
        try:
            nest.verify()
        except VerifyException as error:
            raise InputError(f"{where}:{place[0]}:{place[1]}: error: {error}") from error


def _shown(kinds: Iterable[str]) -> str:
    """Names of attributes as a message lists them: `#loop.rows<...>, #loop.schedule<...> x 7`."""
    counts = [(kind, len(list(run))) for kind, run in groupby(kinds)]
    return ", ".join(f"#{k}<...>" if n == 1 else f"#{k}<...> x {n}" for k, n in counts)


def parse_schedule(text: str, context: Context, where: str = "schedule") -> ArrayAttr[Attribute]:
    """The array that a text is. Raises InputError, naming `where`, for what is none."""
    try:
        given = Parser(context, text, where).parse_attribute()
    except (ParseError, VerifyException) as error:
        raise InputError(f"{where}: {error}") from error
    if not isinstance(given, ArrayAttr):
        raise InputError(f"{where}: it is an array of schedules, not {given}")
    return given


def kernels_by_name(module: ModuleOp) -> dict[str, func.FuncOp]:
    """Those of a module; kernels of callees have the names that `link-callees` gives them."""
    found = {f.sym_name.data: f for f in kernel_functions(module)}
    for callee, program in callee_programs(module).items():
        found |= {f"{callee}.{name}": kernel for name, kernel in kernels_by_name(program).items()}
    return found
