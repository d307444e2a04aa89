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


def ended_dims(part: Part, tasks: Any) -> dict[GenericOp, dict[int, int]]:
    """Of each nest the dimensions whose loops end at a number of the call, and which argument of
    the kernel that number is in.

    Empty where tasks have no such loops: those of products, of sums over rows, of rows side by
    side, and where one loop of the part cannot end there.
    """
    stages = stages_of([stage.op for stage in part.stages])
    if not isinstance(tasks, RowTasks) or tasks.jam is not None or not stages:
        return {}
    if any(has_cached_reads(stage.op) or summed_rows(stage.op) for stage in stages):
        return {}
    collapse_rows(stages)
    take_inner(stages, tasks.inner or ())
    return ended_in(stages)


def ended_in(stages: list[Stage]) -> dict[GenericOp, dict[int, int]]:
    """The same of stages that are swept row by row, whose loops are their inner dimensions."""
    sweeps = scheduled_sweeps(stages)
    ends = common_ends(sweeps)
    found: dict[GenericOp, dict[int, int]] = {stage.op: {} for stage in stages}
    for sweep, places in (ends or {}).items():
        for stage in sweep.members:
            noted = ends_of(stage.op, stage.op.extents)
            for place in places:
                dims = sweep.followers.get(stage)
                if dims is not None and sweep.order[sweep.stages[0]][place] not in dims:
                    continue
                dim = sweep.dim(stage, place)
                for bound in noted.get(dim, ()):
                    count = bound.form.pure_dim
                    if count is not None and count >= FIRST_COUNT:
                        found[stage.op][dim] = count - FIRST_COUNT
    return found
