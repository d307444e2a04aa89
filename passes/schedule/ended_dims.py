"""Which dimensions of the nests of a part end at numbers of the call, as the nests say."""

from __future__ import annotations

from typing import Any

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import FIRST_COUNT, ends_of
from lamina.dialects.loop.kernel_nests import summed_rows
from lamina.dialects.loop.schedules import RowTasks
from lamina.passes.schedule.kernel_parts import Part
from lamina.passes.schedule.loop_ends import common_ends
from lamina.passes.schedule.nest_steps import has_cached_reads
from lamina.passes.schedule.stages import Stage, collapse_rows, stages_of, take_inner
from lamina.passes.schedule.sweeps import scheduled_sweeps

Ended = dict[int, frozenset[int]]
"""Dimensions of a nest whose loops end at numbers of the call, and which arguments of the kernel
these are in: each of the numbers is an end."""


def ended_dims(part: Part, tasks: Any) -> dict[GenericOp, Ended]:
    """Of each nest the dimensions whose loops end at numbers of the call.

    Empty where tasks have no such loops: those of products, of rows side by side, and where one
    loop of the part cannot end there.
    """
    stages = stages_of([stage.op for stage in part.stages])
    if not isinstance(tasks, RowTasks) or tasks.jam is not None or not stages:
        return {}
    if any(has_cached_reads(stage.op) for stage in stages):
        return {}
    collapse_rows(stages)
    if not any(summed_rows(stage.op) for stage in stages):
        take_inner(stages, tasks.inner or ())
    return ended_in(stages)


def ended_in(stages: list[Stage]) -> dict[GenericOp, Ended]:
    """The same of stages that are swept row by row, whose loops are their inner dimensions."""
    sweeps = scheduled_sweeps(stages)
    ends = common_ends(sweeps)
    found: dict[GenericOp, Ended] = {stage.op: {} for stage in stages}
    for sweep, places in (ends or {}).items():
        for stage in sweep.members:
            noted = ends_of(stage.op, stage.op.extents)
            for place in places:
                dims = sweep.followers.get(stage)
                if dims is not None and sweep.order[sweep.stages[0]][place] not in dims:
                    continue
                dim = sweep.dim(stage, place)
                counts = [bound.form.pure_dim for bound in noted.get(dim, ())]
                ends_at = [n - FIRST_COUNT for n in counts if n is not None and n >= FIRST_COUNT]
                if ends_at:
                    found[stage.op][dim] = frozenset(ends_at)
    return found
