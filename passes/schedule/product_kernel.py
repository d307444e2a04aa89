"""Kernels around packed matrix products: blocks of rows, products into scratch, epilogues.

Where the epilogue is pointwise, it may run panel by panel on scratch that stays in the first-level
cache, and tasks divide rows and columns. Where it needs whole rows (softmax, layer norm, a second
product), tasks divide rows only and scratch holds a block of whole rows.
"""

from __future__ import annotations

from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.schedule.backward import tasks_backward
from lamina.passes.schedule.bounded_block import balanced
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.even_blocks import BlockRows, EvenBlocks
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import (
    End,
    block_end,
    block_ends,
    count_of,
    ends_of,
    live_digits,
    split_digits,
)
from lamina.passes.schedule.memory import Envs, Memory
from lamina.passes.schedule.panel_epilogue import PanelEpilogue
from lamina.passes.schedule.product_ends import ProductEnds
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.product_task import TaskDomain
from lamina.passes.schedule.row_epilogue import RowEpilogue
from lamina.passes.schedule.row_loops import row_loops
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.streamed_product import StreamedProduct


def schedule_product_kernel(
    emit: Emitter, stages: list[Stage], memory: Memory, tasks: ProductTasks
) -> None:
    """Emit the whole part as its schedule says."""
    plan = ProductPlan.of(stages, tasks)
    blocks, columns, lines = plan.blocks, plan.columns, row_loops(plan)
    builder = PanelEpilogue if plan.panel_mode else RowEpilogue
    if plan.stream is not None:
        builder = StreamedProduct
        for clause in ("backward", "alternate"):
            if getattr(tasks, clause):
                raise illegal(stages[0].op, f"{clause}: of products whose sums are not streamed")
    kernel = builder(emit, plan, memory, lines)
    splits = tasks.columns or 1
    _verify_splits(plan, splits)
    rows, block = blocks.rows, blocks.size
    ends = _ends(emit, stages[0], len(plan.outer_extents), memory)
    wide, outer, in_block = ends[:columns], ends[columns:-1], ends[-1]
    behind = plan.behind
    if lines.places:
        walked = len(lines.places)
        outer, behind = outer[:-walked], max(0, behind - walked)
    in_blocks = block_ends(emit, in_block, rows, block)
    if not plan.is_level and len(in_blocks) > 1:
        in_blocks = [End.of(blocks.count)]
    flat = dict(enumerate(memory.flat.values()))
    for stage, shape in plan.products.items():
        own = ProductEnds.of(stage, shape, panel_mode=plan.panel_mode)
        kernel.ends[stage] = own.read(emit, flat)
    end = splits
    if plan.panel_mode:
        end = kernel.ends[plan.first[0]].parts(emit, splits, plan.panels // splits)
    parts = [End(splits, end)]
    least = plan.tile_rows
    even = None
    if tasks.num_threads is not None:
        if not plan.is_level or not plan.can_share_evenly:
            raise illegal(stages[0].op, "num_threads: only live rows of a product are shared so")
        around = count_of(emit, [end for group in (*wide, *outer, parts) for end in group])
        sizes = BlockRows.of(least, block, plan.tile_unit)
        even = EvenBlocks.of(emit, in_block, around, sizes, tasks.num_threads)
        in_blocks = even.ends
    columns_first = tasks.order == "columns"
    front = len(outer) - behind
    digits = [*outer[:front], in_blocks, *outer[front:]]
    inside = plan.batches if columns_first else len(digits)
    order = [*digits[:inside], *wide, parts, *digits[inside:]]
    count = count_of(emit, [end for group in order for end in group])

    def task(inner: Emitter, number: Index) -> None:
        at = split_digits(inner, number, order)
        column_at, split = at[inside : inside + columns], at[inside + columns]
        row_at = [*at[:inside], *at[inside + columns + 1 :]]
        block_number, outer_at = row_at[front], [*row_at[:front], *row_at[front + 1 :]]
        if not plan.is_level:
            block_number = balanced(inner, block_number, in_blocks[0].end)
        low = inner.times(block_number, block)
        high = inner.plus(low, block)
        if even is not None:
            low, high = even.rows(inner, block_number)
        elif blocks.live:
            high = block_end(inner, low, in_block, block, least)
        if rows % block and even is None:
            high = inner.least(high, rows)
        position = [*column_at, *outer_at]
        envs: Envs = {s: dict(zip(s.rows, position, strict=False)) for s in stages}
        kernel.task(inner, TaskDomain(envs, (low, high), split, splits))

    if tasks.backward:
        tasks_backward(emit, count, task, parallel=tasks.parallel)
    else:
        emit.tasks(count, task, parallel=tasks.parallel)


def _ends(emit: Emitter, stage: Stage, outer: int, memory: Memory) -> list[list[End]]:
    """Where the digits of each outer row end, and those of the row that blocks divide."""
    digits = live_digits(stage.op)
    flat = dict(enumerate(memory.flat.values()))
    found = [
        ends_of(emit, digits.get(dim, (Digit(stage.extents[dim]),)), flat) for dim in stage.rows
    ]
    return found if len(found) > outer else [*found, []]


def _verify_splits(plan: ProductPlan, splits: int) -> None:
    """Raises InputError for ranges of columns that are no whole panels, or of whole rows."""
    if splits != 1 and (not plan.panel_mode or plan.panels % splits):
        legal = "1 where tasks take whole rows"
        if plan.panel_mode:
            legal = f"a divisor of {plan.panels} panels"
        raise illegal(plan.stages[0].op, f"columns = {splits}: it is {legal}")
