"""Whether kernels may have the schedules that are given as texts: tried on copies of them.

So what is refused is said with the place in that text, which names the kernel and the nest; in the
program's text, nests of several kernels may stand at one line.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from lamina.codegen.target import Target
from lamina.passes.schedule.apply_schedule import apply_schedule
from lamina.passes.schedule.choose_schedule import choose_kernel
from lamina.passes.schedule.kernel_parts import parts_of
from lamina.passes.schedule.schedule_texts import (
    entries_of,
    entry_places,
    kernels_by_name,
    place_of_text,
)


def verify_given(module: ModuleOp, schedules: Mapping[str, str], target: Target) -> None:
    """Tries texts that `give_schedules` has given to kernels of a module, which stays as it is.

    Raises InputError or UnsupportedError for a schedule that its kernel cannot have.
    """
    kernels = kernels_by_name(module)
    for name, text in schedules.items():
        copy = kernels[name].clone()
        ModuleOp([copy])
        file = StringAttr(place_of_text(name))
        parts = [part.op or copy for part in parts_of(copy)]
        owners = [*parts, *(owner for owner, _ in entries_of(copy)[len(parts) :])]
        for owner, place in zip(owners, entry_places(text), strict=True):
            owner.location = FileLineColLoc(file, *map(IntAttr, place))
        choose_kernel(copy, target)
        apply_schedule(copy)
