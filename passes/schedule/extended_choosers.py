"""Schedules that active extensions choose, in front of the cost model."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func

from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.dialects.extension_tables import extended_names
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.dialects.op_list import instances_under
from lamina.passes.schedule.schedule_texts import give_schedule


def choose_by_extensions(kernel: func.FuncOp, target: Target, context: Context) -> None:
    """Gives a kernel without a schedule the first that a chooser has for it, innermost first.

    Raises InputError, with the chooser's place, if it raises or gives what is no schedule.
    """
    choosers = extended_names("schedule chooser")
    if not choosers or is_given(kernel):
        return
    for name, entry in reversed(choosers.items()):
        said = f"schedule chooser '{name}', kernel '{kernel.sym_name.data}':"
        try:
            text = entry.value(kernel, target)
        except Exception as error:
            raise entry.error(said, error) from error
        if text is None:
            continue
        if not isinstance(text, str):
            raise entry.error(f"{said} it gives a {type(text).__name__}, not a text or None")
        try:
            give_schedule(kernel, text, context, kernel.sym_name.data)
        except InputError as error:
            raise entry.error(said, error) from error
        return


def is_given(kernel: func.FuncOp) -> bool:
    """Whether the text of a kernel has a schedule, or a part of one."""
    nests = instances_under(kernel, GenericOp)
    return SCHEDULE in kernel.attributes or any(SCHEDULE in nest.attributes for nest in nests)
