"""Which rows of kernels around packed products run: those that count, or whole tiles of them."""

from __future__ import annotations

from typing import Any

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.schedule.ended_dims import Ended, ended_in
from lamina.passes.schedule.jammed_block import runs_in_block
from lamina.passes.schedule.kernel_parts import Part
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.product_ends import ProductEnds
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.stages import stages_of


def plan_of(part: Part, tasks: ProductTasks) -> ProductPlan:
    """The plan of a part whose schedule is complete; the part stays as it is."""
    return ProductPlan.of(stages_of([stage.op for stage in part.stages]), tasks)


def product_rows_run_singly(part: Part, tasks: Any) -> dict[GenericOp, tuple[int, ...]]:
    """Of each nest of a part the row dimensions of which just the positions that count are run.

    Blocks of live rows end where these do if their last tiles have one row, or calls never have
    fewer than a tile, and if they are of any size, or all rows count one behind the other. Nests
    that walk keys in blocks, or end where a mask does that is not the same for all rows, are left
    out.
    """
    if not isinstance(tasks, ProductTasks):
        return {}
    plan = plan_of(part, tasks)
    stages, blocks = plan.stages, plan.blocks
    if any(stage.totals for stage in stages) or plan.stream or not plan.is_level:
        return {}
    rows = [stage.rows for stage in stages]
    if blocks.live:
        together = tasks.num_threads is not None or len(live_digits(stages[0].op)[rows[0][-1]]) == 1
        if not together or not plan.runs_live_rows:
            return {}
    elif blocks.is_blocked:
        rows = [dims[:-1] for dims in rows]
    return {stage.op: dims for stage, dims in zip(stages, rows, strict=True)}


def ended_columns(part: Part, tasks: Any) -> dict[GenericOp, Ended]:
    """Of each nest of a part the columns that end at numbers of the call: those of products that
    their kernel gives to its caller, what follows such a product panel by panel, and what is swept
    row by row and ends there; and of sums of products the terms."""
    if not isinstance(tasks, ProductTasks):
        return {}
    plan = plan_of(part, tasks)
    found: dict[GenericOp, Ended] = {}
    for stage, shape in plan.products.items():
        ends = ProductEnds.of(stage, shape, panel_mode=plan.panel_mode)
        if ends.terms is not None and ends.terms.count is not None:
            found[stage.op] = {ends.dim: frozenset({ends.terms.count})}
        if ends.columns is None or ends.columns.count is None:
            continue
        count = frozenset({ends.columns.count})
        followers = [s for s in plan.stages if s is not stage]
        found.setdefault(stage.op, {})[shape.inner_column] = count
        if plan.panel_mode:
            found.update((s.op, {s.inner[0]: count}) for s in followers)
    if not plan.panel_mode and not any(stage.totals for stage in plan.stages):
        for segment in plan.segments:
            if not runs_in_block(segment):
                found.update(ended_in(segment))
    return found
