"""Tasks, register tiles and copies of kernels around packed matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import PAIR_BYTES, TILE_PANEL, is_packed_in_tasks
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.cost.cache_shares import whole_row_bytes
from lamina.passes.cost.kernel_model import (
    PACKED_TASK_ROWS,
)
from lamina.passes.cost.product_limits import (
    LIVE_ROWS,
    TASKS,
    TASKS_A_CORE,
)
from lamina.passes.cost.row_limits import PARALLEL_WORK
from lamina.passes.cost.scratch_budget import SCRATCH_BYTES
from lamina.passes.schedule.choose_block_rows import choose_block_rows, has_tasks
from lamina.passes.schedule.choose_jammed_block import (
    BlockSurroundings,
    choose_jammed_block,
    choose_turned_block,
)
from lamina.passes.schedule.choose_row_loops import choose_row_loops
from lamina.passes.schedule.choose_rows import work
from lamina.passes.schedule.choose_sweeps import (
    SweepSurroundings,
    choose_fetch_along,
    choose_sweeps,
    decide,
    group_sweeps,
)
from lamina.passes.schedule.choose_terms import (
    choose_packing,
    choose_sum_blocks,
    is_long,
    sum_block,
    waiting_bytes,
)
from lamina.passes.schedule.choose_tiles import (
    choose_dots,
    choose_inner_row,
    choose_register_tile,
    choose_row_followers,
    choose_tiled_row,
    compute_of_tiles,
    copies_rows,
    follows_in_registers,
    register_height,
)
from lamina.passes.schedule.choose_turned_panel import choose_turned_panel
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.packed_product import Blocks, PackedProduct
from lamina.passes.schedule.panel_epilogue import lay_out_panel
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import (
    flat_arguments,
    lay_out_scratch,
    outputs_of,
)

SUM_BYTES = 4
"""Bytes of one of its sums."""


def choose_products(
    stages: list[Stage], given: ProductTasks, target: Target, *, forks: bool
) -> ProductTasks:
    """The schedule of the part, and those of its stages (in place); what is given stays."""
    forks = forks and work(stages) >= PARALLEL_WORK if given.parallel is None else given.parallel
    plan = ProductPlan(stages, given, partial(choose_tiled_row, target=target))
    panel_mode, products = plan.panel_mode, plan.products
    compute_at = None if len(stages) == 1 else ("panel" if panel_mode else "block")
    plan.complete(parallel=forks, compute_at=compute_at)
    along_rows = panel_mode and choose_turned_panel(plan, target)
    in_registers = not along_rows and panel_mode and follows_in_registers(stages, products, target)
    if in_registers:
        compute_of_tiles(stages[1:], target)
    elif not panel_mode:
        choose_row_followers(plan, target)
    segments = [] if in_registers or along_rows else plan.segments
    for segment in segments:
        group_sweeps(segment)
    if plan.is_blocked:
        plan.complete(block=choose_block_rows(plan, target))
    if plan.tasks.outer_columns is None and len(stages) == 1 and plan.columns:
        others = prod(plan.outer_extents[plan.columns :]) * plan.blocks.count
        plan.complete(outer_columns="loops" if has_tasks(plan, others) else "tasks")
    plan.loop_over_columns()
    extents, blocks = plan.outer_extents, plan.blocks
    lines = 1
    if panel_mode:
        stage, shape = plan.first
        height = register_height(shape, stage.bits, blocks.size, target)
        plan.tasks = choose_row_loops(plan, height, target)
        walked = stage.rows[-1 - (plan.tasks.inner_rows or 0) : -1]
        lines = prod(stage.extents[d] for d in walked)
    if panel_mode and not plan.tasks.inner_rows:
        others = _fewest_tasks(stages[0], extents, blocks)
        far = prod(extents) > 1 and _reads_far_panels(plan, target)
        splits = _column_tasks(plan, others, target, far=far)
        plan.complete(columns=splits, order="columns" if far or _shares_columns(plan) else None)
    memory, scratch = Memory(flat=flat_arguments(stages)), plan.scratch
    if scratch is not None:
        for buffer in scratch.buffers:
            memory.scratch[buffer.memory] = buffer.strides
            memory.flat[buffer.memory] = buffer.memory
    elif segments or along_rows:
        lay_out_panel(next(iter(products)), products, memory)
    filled = plan.tasks.parallel is True and plan.fills_tiles(LIVE_ROWS)
    for stage, shape in products.items():
        product = PackedProduct.of(stage, shape, blocks, choose_inner_row(stage, shape, target))
        if shape.task_packed and panel_mode:
            choose_packing(stage, shape, plan.tasks.columns or 1, target)
        if panel_mode and shape.pairs is not None and target.multiplies_tiles:
            choose_sum_blocks(product, blocks)
        kept = 0 if scratch is None else scratch.row_bytes * product.most
        terms = sum_block(stage, shape, target)
        if terms is not None and not shape.task_packed:
            waiting = 0 if panel_mode else product.most * waiting_bytes(stage, shape)
            fits = plan.visits_whole_rows and kept + waiting <= whole_row_bytes(target)
            if panel_mode or fits:
                decide(stage, terms=terms)
                kept += waiting
        if shape.pairs is None:
            room = SCRATCH_BYTES - kept
            choose_register_tile(product, memory, target, room, lines, filled=filled)
        elif not target.multiplies_tiles:
            choose_dots(product, target)
    if plan.tasks.parallel and plan.is_level and plan.can_share_evenly:
        plan.complete(num_threads=target.cores)
    outputs = outputs_of(stages)
    block = BlockSurroundings(memory, target, blocks, scratch)
    for segment in segments:
        divided = panel_mode or (plan.bounded is not None and segment[0] in plan.bounded.dims)
        divided = divided or (plan.stream is not None and segment[0] in plan.stream.dims)
        if not divided and (
            choose_turned_block(segment, block) or choose_jammed_block(segment, block)
        ):
            continue
        around = SweepSurroundings(memory, target, whole=not divided)
        sweeps = group_sweeps(segment)
        lay_out_scratch(sweeps, memory, outputs)
        choose_sweeps(sweeps, around)
        if len(sweeps) == 1:
            choose_fetch_along(sweeps[0], around)
    return plan.tasks


def _fewest_tasks(stage: Stage, extents: Sequence[int], blocks: Blocks) -> int:
    """Blocks of rows, of which a call whose sizes are small may have one."""
    ending = open_rows(stage.op)
    rows = zip(stage.rows, extents, strict=False)
    known = (extent for dim, extent in rows if dim not in ending)
    return prod(known) * (1 if blocks.live else blocks.count)


def _column_tasks(plan: ProductPlan, others: int, target: Target, *, far: bool) -> int | None:
    """Into how many tasks the panels are divided, given the number of other tasks.

    Tasks of other rows read `far` panels while these are near.
    """
    (stage, shape), panels = plan.first, plan.panels
    wanted = max(1, -(-TASKS // others))
    most = max(1, panels // wanted)
    if far:
        # A range stays near while all rows are multiplied by it.
        most = max(1, min(most, target.l2_bytes // 2 // _panel_bytes(stage, shape)))
    elif sum_block(stage, shape, target) is not None or copies_rows(stage, shape):
        # Each range of columns has the rows copied again.
        wanted = max(1, -(-min(TASKS, TASKS_A_CORE * target.cores) // others))
        most = panels
    elif is_long(shape) and target.multiplies_tiles:
        # Each range of columns has the rows copied again, and sums of its own in scratch.
        wanted = max(1, -(-min(TASKS, TASKS_A_CORE * target.cores) // others))
        rows = min(PACKED_TASK_ROWS, shape.size(shape.rows))
        kept = rows * TILE_PANEL * SUM_BYTES
        most = max(1, min(panels // wanted, target.l2_bytes // 2 // kept))
    elif shape.pairs is not None:
        # Tiles are multiplied faster than the last-level cache delivers them.
        kept = stage.extents[shape.inner_column] * shape.size(shape.summed) * PAIR_BYTES
        most = max(1, min(most, panels * target.l2_bytes // 4 // kept))
    for splits in range(wanted, panels + 1):
        if panels % splits == 0 and panels // splits <= most and splits < panels:
            return splits if splits > 1 else None
    if shape.task_packed and others >= target.cores and _is_prime(panels):
        return None  # tasks of a panel each would all read, or copy, the rows
    return panels if panels > 1 else None


def _is_prime(number: int) -> bool:
    return number > 2 and all(number % divisor for divisor in range(2, number))


def _reads_far_panels(plan: ProductPlan, target: Target) -> bool:
    """Whether constant panels leave the second-level cache before the next task of the same rows
    reads them again, as lines of a small image by many channels do: tasks of the same columns are
    then neighbours."""
    stage, shape = plan.first
    if shape.repacked or shape.pairs == shape.a or is_packed_in_tasks(shape):
        return False
    if shape.pairs is not None and target.multiplies_tiles:
        return False  # tasks walk all lines there: see `choose_row_loops`
    return 2 * _panel_bytes(stage, shape) * plan.panels >= target.l2_bytes


def _panel_bytes(stage: Stage, shape: Contraction) -> int:
    """Size of one packed panel, all its terms."""
    size = stage.bits // 8 if shape.pairs is None else PAIR_BYTES
    return shape.size(shape.summed) * (shape.panel or 1) * size


def _shares_columns(plan: ProductPlan) -> bool:
    """Whether threads should divide the columns: then each reads only the panels it packed itself.

    Worth it where the panels are made in the same call, or are read as they are, and are the
    larger operand; otherwise dividing the rows keeps a row with the thread that has it in cache.
    """
    _, shape = plan.first
    as_they_are = shape.pairs == shape.a or is_packed_in_tasks(shape)
    if not shape.repacked and not as_they_are:
        return False
    if len(plan.stages) == 1 and shape.size(shape.rows) > shape.size(shape.summed):
        return False  # the result is larger than the panels, and read by rows more often than not
    return shape.size(shape.columns) > shape.size(shape.rows)
