"""Rows of a block that a task of products takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.tiles import TILE_ROWS
from lamina.passes.cost.block_cost import Panels, even_count, even_rows
from lamina.passes.cost.cache_shares import block_bytes, block_scratch_bytes, whole_row_bytes
from lamina.passes.cost.kernel_model import (
    BLOCKED_ROWS,
    EVEN_TASKS,
    PACKED_SHARE,
    PACKED_TASK_ROWS,
    THREADS,
    shared_rows,
)
from lamina.passes.cost.product_limits import (
    BOUNDED_ROW_BLOCK,
    LEAST_BLOCK,
    PANEL_MODE_ROWS,
    ROW_BLOCK,
    STREAM_MODE_ROWS,
    SUM_BLOCK,
    TASKS,
    TILE_STREAM_ROWS,
    WAITING_ROWS,
)
from lamina.passes.cost.tile_cost import tile_height
from lamina.passes.schedule.choose_sweeps import HALF_BITS
from lamina.passes.schedule.choose_terms import is_long, sum_block, waiting_bytes
from lamina.passes.schedule.choose_tiles import copies_rows
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.stages import Stage


def has_tasks(plan: ProductPlan, others: int) -> bool:
    """Whether a product has tasks enough without its outer columns.

    It is better to walk those within a task, which keeps the block of rows near.
    """
    return others * plan.panels >= TASKS


def choose_block_rows(plan: ProductPlan, target: Target) -> int:
    """Rows per task: operands and scratch fit the second-level cache, register tiles are whole, and
    cores have equal shares."""
    products, scratch, stream = plan.products, plan.scratch, plan.stream
    all_rows = [plan.stages[0].extents[d] for d in plan.stages[0].rows]
    rows, around, cores = all_rows[-1], prod(all_rows[:-1]), target.cores
    blocked = [sum_block(*product, target) for product in products.items()]
    wanted = max(1, min(_fitting_rows(plan, blocked, target), rows))
    in_pairs = any(shape.pairs is not None for shape in products.values())
    panels = tuple(_panels(stage, shape, target) for stage, shape in products.items())
    tile = max(tile_height(p.vectors, wanted, target) for p in panels)
    step, least = (TILE_ROWS, min(rows, TILE_ROWS)) if in_pairs else (1, tile)
    blocks = -(-rows // wanted)
    if in_pairs or (stream is None and plan.bounded is not None):
        if scratch is not None and stream is None:
            blocks = even_count(blocks, rows, around, cores)
        return _balanced(rows, blocks, step, least)
    if plan.panel_mode:
        # Where columns are divided among the cores as well, only the sum of all tasks counts.
        copied = blocked[0] is not None or copies_rows(*plan.first)
        cores = cores if copied and around * blocks >= cores else 1
    block = even_rows(rows, wanted, around, panels, cores, target)
    return _balanced(rows, blocks, step, least) if block is None else block


def _fitting_rows(plan: ProductPlan, blocked: Sequence[int | None], target: Target) -> int:
    """Rows of a task, at most: sums are taken in blocks of so many terms, where they are. Some of
    the stack is left for what else a task keeps."""
    products, scratch = plan.products, plan.scratch
    shapes = list(products.values())
    all_rows = [plan.stages[0].extents[d] for d in plan.stages[0].rows]
    bits = plan.first[0].bits
    most = _most_rows(plan, all_rows, blocked[0], target)
    if plan.stream is not None:
        return most
    beside_sums = _rows_beside_sums(plan, blocked, target)
    if beside_sums is not None and beside_sums < min(all_rows[-1], WAITING_ROWS):
        beside_sums, blocked = None, [None] * len(blocked)
    sums = (
        (SUM_BLOCK if plan.panel_mode and is_long(shape) else terms or shape.size(shape.summed))
        * (bits if shape.pairs is None else HALF_BITS)
        // 8
        for shape, terms in zip(shapes, blocked, strict=True)
    )
    in_pairs = any(shape.pairs is not None for shape in shapes)
    fitting = block_bytes(target, in_pairs=in_pairs) // max(1, *sums)
    if scratch is not None and scratch.row_bytes:
        fitting = min(fitting, block_scratch_bytes(target) // scratch.row_bytes)
    if beside_sums is not None:
        fitting = min(fitting, beside_sums)
    return min(most, max(LEAST_BLOCK, fitting))


def _most_rows(plan: ProductPlan, rows: Sequence[int], terms: int | None, target: Target) -> int:
    """Rows of a task whatever they take, of a kernel whose first sum is taken in blocks of so many
    terms, if it is."""
    shapes, scratch = list(plan.products.values()), plan.scratch
    if plan.panel_mode and terms is not None:
        fitting = target.l2_bytes // BLOCKED_ROWS // (terms * plan.first[0].bits // 8)
        return min(PACKED_TASK_ROWS, fitting)
    if scratch is not None and plan.stream is not None:
        tiled = all(shape.pairs is not None for shape in shapes)
        return shared_rows(prod(rows), TILE_STREAM_ROWS if tiled else STREAM_MODE_ROWS)
    if scratch is not None:
        block = ROW_BLOCK if plan.bounded is None else BOUNDED_ROW_BLOCK
        return shared_rows(prod(rows), block, min(THREADS, target.cores))
    if any(shape.pairs == shape.b or shape.task_packed for shape in shapes):
        others = prod(rows[plan.columns : -1]) * plan.panels
        if shapes[0].pairs is not None or others >= EVEN_TASKS * target.cores:
            return PACKED_TASK_ROWS
        # Rows are shared until cores have equal shares; each task packs the columns for its own.
        shares = target.cores // gcd(others, target.cores)
        return min(PACKED_TASK_ROWS, max(PACKED_SHARE, -(-rows[-1] // shares)))
    blocks = prod(rows[plan.columns : -1]) * -(-rows[-1] // PANEL_MODE_ROWS)
    apart = plan.panel_mode and not has_tasks(plan, blocks)
    return PANEL_MODE_ROWS // 2 if apart else PANEL_MODE_ROWS


def _panels(stage: Stage, shape: Contraction, target: Target) -> Panels:
    """What rows of a product are multiplied by."""
    panel = shape.panel or 1
    vectors = panel // gcd(panel, target.lanes(stage.bits))
    terms = shape.size(shape.summed) * shape.size(shape.columns) * vectors // panel
    return Panels(vectors, terms, shape.task_packed)


def _balanced(rows: int, blocks: int, step: int, tile: int) -> int:
    """Rows of so many blocks that are as equal as multiples of `step` allow. The last one must hold
    one whole tile, which may overlap its neighbour otherwise."""
    block = -(-rows // blocks)
    block = -(-block // step) * step
    while rows % block and rows % block < tile:
        block += step
    return min(block, rows)


def _rows_beside_sums(
    plan: ProductPlan, blocked: Sequence[int | None], target: Target
) -> int | None:
    """Rows of which a task can keep all columns, and sums that wait; None where none do."""
    if plan.scratch is None or not plan.visits_whole_rows:
        return None
    products = zip(plan.products.items(), blocked, strict=True)
    waiting = sum(
        waiting_bytes(stage, shape)
        for (stage, shape), terms in products
        if terms is not None and not shape.task_packed
    )
    kept = plan.scratch.row_bytes + waiting
    return whole_row_bytes(target) // kept if waiting else None
