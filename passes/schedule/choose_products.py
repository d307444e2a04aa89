"""Tasks, register tiles and copies of kernels around packed matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import TILE_PANEL, is_packed_in_tasks
from lamina.dialects.loop.schedules import ProductTasks
from lamina.dialects.loop.tiles import TILE_ROWS
from lamina.passes.cost.cache_shares import block_bytes
from lamina.passes.cost.kernel_model import (
    BLOCKED_ROWS,
    PACKED_TASK_ROWS,
    PRODUCT_ROWS,
    THREADS,
    shared_rows,
)
from lamina.passes.cost.product_limits import (
    EVEN_ROUNDS,
    LEAST_BLOCK,
    PANEL_MODE_ROWS,
    ROW_BLOCK,
    STREAM_MODE_ROWS,
    SUM_BLOCK,
    TASKS,
    TASKS_A_CORE,
    TILE_STREAM_ROWS,
)
from lamina.passes.cost.row_limits import PARALLEL_WORK
from lamina.passes.cost.scratch_budget import SCRATCH_BYTES
from lamina.passes.schedule.block_scratch import BlockScratch, plan_block, segments_of
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.choose_jammed_block import choose_jammed_block
from lamina.passes.schedule.choose_row_loops import choose_row_loops
from lamina.passes.schedule.choose_rows import work
from lamina.passes.schedule.choose_sweeps import (
    HALF_BITS,
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
    panels_of,
    sum_block,
)
from lamina.passes.schedule.choose_tiles import (
    choose_dots,
    choose_inner_row,
    choose_register_tile,
    choose_tiled_row,
    follows_in_registers,
    register_height,
)
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.packed_product import Blocks, PackedProduct
from lamina.passes.schedule.panel_epilogue import lay_out_panel
from lamina.passes.schedule.product_kernel import (
    Products,
    blocks_of,
    can_share_evenly,
    computes_at_panels,
    has_blocked_rows,
    loop_over_columns,
    order_rows,
    outer_extents,
    products_of,
    stream_of,
)
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.stream_plan import StreamPlan
from lamina.passes.schedule.sweeps import (
    flat_arguments,
    lay_out_scratch,
    outputs_of,
)

PAIR_BYTES = 2
"""Bytes of an element of a product in matrix tiles."""
SUM_BYTES = 4
"""Bytes of one of its sums."""


def choose_products(
    stages: list[Stage], given: ProductTasks, target: Target, *, forks: bool
) -> ProductTasks:
    """The schedule of the part, and those of its stages (in place); what is given stays."""
    forks = forks and work(stages) >= PARALLEL_WORK if given.parallel is None else given.parallel
    products = products_of(stages)
    columns, *_ = order_rows(stages, products, choose_tiled_row(products, target))
    panel_mode = computes_at_panels(stages, products, given)
    compute_at = None if len(stages) == 1 else ("panel" if panel_mode else "block")
    tasks = given.completed_by(ProductTasks(parallel=forks, compute_at=compute_at))
    stream = None if panel_mode else stream_of(stages, products)
    segments = [s for s in segments_of(stages, products, stream) if s[0] not in products]
    if panel_mode and follows_in_registers(stages, products, target):
        for stage in stages[1:]:
            decide(stage, compute_with=True)
        segments = []
    for segment in segments:
        group_sweeps(segment)
    scratch = None if panel_mode else plan_block(stages, products, stream)
    if has_blocked_rows(stages, products):
        block = _block_rows(stages, products, target, scratch, stream, columns)
        tasks = tasks.completed_by(ProductTasks(block=block))
    extents, blocks = outer_extents(stages, products), blocks_of(stages, products, tasks)
    if tasks.outer_columns is None and len(stages) == 1:
        apart = columns and not _has_tasks(products, prod(extents[columns:]) * blocks.count)
        chosen = None if not columns else "tasks" if apart else "loops"
        tasks = tasks.completed_by(ProductTasks(outer_columns=chosen))
    if tasks.outer_columns == "loops":
        loop_over_columns(stages, columns)
        extents = extents[columns:]
    lines = 1
    if panel_mode:
        (stage, shape), *_ = products.items()
        bits = stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        height = register_height(shape, bits, blocks.size, target)
        tasks = choose_row_loops(stages, shape, tasks, blocks, height, target)
        walked = stage.rows[-1 - (tasks.inner_rows or 0) : -1]
        lines = prod(stage.extents[d] for d in walked)
    if panel_mode and not tasks.inner_rows:
        others = _fewest_tasks(stages[0], extents, blocks)
        far = prod(extents) > 1 and _reads_far_panels(products, target)
        splits = _column_tasks(products, others, target, far=far)
        order = "columns" if far or _shares_columns(stages, products) else None
        tasks = tasks.completed_by(ProductTasks(columns=splits, order=order))
    memory = Memory(flat=flat_arguments(stages))
    if scratch is not None:
        for buffer in scratch.buffers:
            memory.scratch[buffer.memory] = buffer.strides
            memory.flat[buffer.memory] = buffer.memory
    elif segments:
        lay_out_panel(next(iter(products)), products, memory)
    for stage, shape in products.items():
        product = PackedProduct.of(stage, shape, blocks, choose_inner_row(stage, shape, target))
        if shape.task_packed and panel_mode:
            choose_packing(stage, shape, tasks.columns or 1, target)
        if panel_mode and shape.pairs is not None and target.multiplies_tiles:
            choose_sum_blocks(product, blocks)
        terms = sum_block(stage, shape, target) if panel_mode else None
        if terms is not None and not shape.task_packed:
            decide(stage, terms=terms)
        if shape.pairs is None:
            kept = 0 if scratch is None else scratch.row_bytes * product.most
            choose_register_tile(product, memory, target, SCRATCH_BYTES - kept, lines)
        elif not target.multiplies_tiles:
            choose_dots(product, target)
    bounded = None
    if scratch is not None and blocks.is_blocked:
        bounded = BoundedBlock.of(scratch.segments, products)
    is_level = bounded is None or bounded.is_level
    if tasks.parallel and is_level and can_share_evenly(stages, products, blocks):
        tasks = tasks.completed_by(ProductTasks(num_threads=target.cores))
    outputs = outputs_of(stages)
    for segment in segments:
        divided = panel_mode or (bounded is not None and segment[0] in bounded.dims)
        divided = divided or (stream is not None and segment[0] in stream.dims)
        if not divided and choose_jammed_block(segment, memory, target, blocks, scratch):
            continue
        around = SweepSurroundings(memory, target, whole=not divided)
        sweeps = group_sweeps(segment)
        lay_out_scratch(sweeps, memory, outputs)
        choose_sweeps(sweeps, around)
        if len(sweeps) == 1:
            choose_fetch_along(sweeps[0], around)
    return tasks


def _has_tasks(products: Products, others: int) -> bool:
    """Whether a product has tasks enough without its outer columns.

    It is better to walk those within a task, which keeps the block of rows near.
    """
    stage, shape = next(iter(products.items()))
    return others * panels_of(stage, shape) >= TASKS


def _fewest_tasks(stage: Stage, extents: Sequence[int], blocks: Blocks) -> int:
    """Blocks of rows, of which a call whose sizes are small may have one."""
    ending = open_rows(stage.op)
    rows = zip(stage.rows, extents, strict=False)
    known = (extent for dim, extent in rows if dim not in ending)
    return prod(known) * (1 if blocks.live else blocks.count)


def _column_tasks(products: Products, others: int, target: Target, *, far: bool) -> int | None:
    """Into how many tasks the panels are divided, given the number of other tasks.

    Tasks of other rows read `far` panels while these are near.
    """
    stage, shape = next(iter(products.items()))
    panels = panels_of(stage, shape)
    wanted = max(1, -(-TASKS // others))
    most = max(1, panels // wanted)
    if far:
        # A range stays near while all rows are multiplied by it.
        most = max(1, min(most, target.l2_bytes // 2 // _panel_bytes(stage, shape)))
    elif sum_block(stage, shape, target) is not None:
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
        if panels % splits == 0 and panels // splits <= most:
            return splits if splits > 1 else None
    return panels if panels > 1 else None


def _reads_far_panels(products: Products, target: Target) -> bool:
    """Whether constant panels leave the second-level cache before the next task of the same rows
    reads them again, as lines of a small image by many channels do: tasks of the same columns are
    then neighbours."""
    stage, shape = next(iter(products.items()))
    if shape.repacked or shape.pairs is not None:
        return False
    return 2 * _panel_bytes(stage, shape) * panels_of(stage, shape) >= target.l2_bytes


def _panel_bytes(stage: Stage, shape: Contraction) -> int:
    """Size of one packed panel, all its terms."""
    bits = stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    return shape.size(shape.summed) * (shape.panel or 1) * bits // 8


def _shares_columns(stages: list[Stage], products: Products) -> bool:
    """Whether threads should divide the columns: then each reads only the panels it packed itself.

    Worth it where the panels are made in the same call, or are read as they are, and are the
    larger operand; otherwise dividing the rows keeps a row with the thread that has it in cache.
    """
    shape = next(iter(products.values()))
    as_they_are = shape.pairs == shape.a or is_packed_in_tasks(shape)
    if not shape.repacked and not as_they_are:
        return False
    if len(stages) == 1 and shape.size(shape.rows) > shape.size(shape.summed):
        return False  # the result is larger than the panels, and read by rows more often than not
    return shape.size(shape.columns) > shape.size(shape.rows)


def _even_blocks(blocks: int, rows: Sequence[int], cores: int) -> int:
    """As many blocks of the last rows at least, and more where cores would have unequal shares."""
    *outer, last = rows
    around = prod(outer)
    for count in range(blocks, blocks + cores):
        if around * count >= EVEN_ROUNDS * cores or last // count < PRODUCT_ROWS:
            break
        if around * count % cores == 0:
            return count
    return blocks


def _block_rows(
    stages: list[Stage],
    products: Products,
    target: Target,
    scratch: BlockScratch | None,
    stream: StreamPlan | None,
    columns: int,
) -> int:
    """Rows per task, balanced over the blocks: operands and scratch fit half the L2 cache.

    Some of the stack is left for what else a task keeps. Without `scratch`, tasks go panel by
    panel. The first `columns` rows are those of outer columns.
    """
    all_rows = [stages[0].extents[d] for d in stages[0].rows]
    rows, most, panel_mode = all_rows[-1], PANEL_MODE_ROWS, scratch is None
    blocks = prod(all_rows[columns:-1]) * -(-rows // PANEL_MODE_ROWS)
    if panel_mode and not _has_tasks(products, blocks):
        most //= 2
    if scratch is not None:
        tiled = all(shape.pairs is not None for shape in products.values())
        streamed = TILE_STREAM_ROWS if tiled else STREAM_MODE_ROWS
        if stream is None:
            most = shared_rows(prod(all_rows), ROW_BLOCK, min(THREADS, target.cores))
        else:
            most = shared_rows(prod(all_rows), streamed)
    elif any(shape.pairs == shape.b or shape.task_packed for shape in products.values()):
        most = PACKED_TASK_ROWS
    bits = next(iter(products)).writes[0].element.bitwidth  # pyright: ignore
    blocked = [sum_block(*product, target) for product in products.items()]
    if panel_mode and blocked[0] is not None:
        fitting = target.l2_bytes // BLOCKED_ROWS // (blocked[0] * bits // 8)
        most = min(PACKED_TASK_ROWS, fitting)
    sums = (
        (SUM_BLOCK if panel_mode and is_long(shape) else terms or shape.size(shape.summed))
        * (bits if shape.pairs is None else HALF_BITS)
        // 8
        for shape, terms in zip(products.values(), blocked, strict=True)
    )
    read = max(sums)
    kept = 0 if scratch is None else scratch.row_bytes
    in_pairs = any(shape.pairs is not None for shape in products.values())
    fitting = block_bytes(target, in_pairs=in_pairs) // max(1, read)
    if kept:
        fitting = min(fitting, SCRATCH_BYTES // 2 // kept)
    if stream is not None:
        fitting = most
    wanted = max(1, min(most, max(LEAST_BLOCK, fitting), rows))
    blocks = -(-rows // wanted)
    if scratch is not None and stream is None:
        blocks = _even_blocks(blocks, all_rows, target.cores)
    block = -(-rows // blocks)
    step, smallest = 1, min(rows, TILE_ROWS)
    if in_pairs:
        step = TILE_ROWS
        block = -(-block // step) * step
    else:
        smallest = min(register_height(c, bits, block, target) for c in products.values())
    # The last block must hold one whole tile, which may overlap its neighbour otherwise.
    while rows % block and rows % block < smallest:
        block += step
    return min(block, rows)
