"""Kernels around packed matrix products: blocks of rows, products into scratch, epilogues.

Where the epilogue is pointwise, it runs panel by panel on scratch that stays in the first-level
cache, and tasks divide rows and columns. Where it needs whole rows (softmax, layer norm, a second
product), tasks divide rows only and scratch holds a block of whole rows.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.target import STACK_BYTES, Target
from lamina.dialects.loop.contraction import REPACKED, Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_ROWS
from lamina.passes.cost.kernel_model import PRODUCT_ROWS, THREADS
from lamina.passes.schedule.block_scratch import BlockScratch, plan_block
from lamina.passes.schedule.bounded_block import BoundedBlock, balanced
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.panel_product import TASKS, PanelProduct
from lamina.passes.schedule.product import choose_tile
from lamina.passes.schedule.row_kernel import PARALLEL_WORK, work
from lamina.passes.schedule.row_product import RowProduct
from lamina.passes.schedule.rows import match_order, outputs_of
from lamina.passes.schedule.stages import Stage

PANEL_MODE_ROWS = 64
"""Rows of a task: a panel is read again from the caches for them."""
PACKED_MODE_ROWS = 256
"""Rows of a task whose columns are in pairs, which it may have to pack itself: with 64, products of
512 rows took a tenth longer."""
ROW_MODE_ROWS = 32
"""The same where scratch holds whole rows, and both have to fit half of the second-level cache."""
HALF_BITS = 16
"""Width of half floats."""
LEAST_BLOCK = 8
"""Rows that share what is read of a panel, however long they are."""


def schedule_product_kernel(
    emit: Emitter, stages: list[Stage], memory: Memory, target: Target
) -> None:
    """Emit the whole kernel."""
    products = {s: c for s in stages if (c := Contraction.of(s.op)) and c.panel is not None}
    columns = _order_rows(stages, products)
    panel_mode = _by_panels(stages, products)
    outputs = outputs_of(stages)
    extents = [stages[0].extents[d] for d in stages[0].rows]
    blocked = _has_blocked_rows(stages, products)
    rows = extents.pop() if blocked else 1
    bits = _bits(products)
    most = PANEL_MODE_ROWS if panel_mode else _shared_rows(prod(extents) * rows)
    if panel_mode and any(shape.pairs == shape.b for shape in products.values()):
        most = PACKED_MODE_ROWS
    scratch = None if panel_mode else plan_block(stages, products)
    block = _block_rows(rows, products, target, bits, most, scratch)
    blocks = -(-rows // block)
    if len(stages) == 1 and _has_tasks(products, prod(extents[columns:]) * blocks):
        _loop_over_columns(stages[0], columns)
        extents, columns = extents[columns:], 0
    builder = PanelProduct if panel_mode else RowProduct
    bounded = BoundedBlock.of(scratch.segments, products) if scratch and blocked else None
    kernel = builder(
        stages, products, memory, target, outputs, blocked, rows, block, bits, scratch, bounded
    )
    splits = kernel.column_tasks(prod(extents) * blocks)
    wide, outer = extents[:columns], extents[columns:]
    count = prod(extents) * blocks * splits
    columns_first = panel_mode and _shares_columns(products)

    def task(inner: Emitter, number: Index) -> None:
        if columns_first:
            *at, block_number = inner.split(number, [*wide, splits, *outer, blocks])
            column_at, split, outer_at = at[:columns], at[columns], at[columns + 1 :]
        else:
            *at, split = inner.split(number, [*outer, blocks, *wide, splits])
            outer_at, block_number = at[: len(outer)], at[len(outer)]
            column_at = at[len(outer) + 1 :]
        if bounded is not None:
            block_number = balanced(inner, block_number, blocks)
        low = inner.times(block_number, block)
        high = inner.least(inner.plus(low, block), rows)
        if rows % block == 0:
            high = inner.plus(low, block)
        position = [*column_at, *outer_at]
        envs: dict[Stage, Env] = {s: dict(zip(s.rows, position, strict=False)) for s in stages}
        kernel.task(inner, envs, (low, high), split, splits)

    if memory.forks and count > 1 and work(stages) >= PARALLEL_WORK:
        emit.parallel(count, task)
        return

    def serial(inner: Emitter, number: Index, values: list[SSAValue]) -> list[SSAValue]:
        task(inner, number)
        return values

    emit.loop(0, count, 1, [], serial)


def _shares_columns(products: dict[Stage, Contraction]) -> bool:
    """Whether threads should divide the columns: then each reads only the panels it packed itself.

    Worth it where the panels are made in the same call, or are read as they are, and are the
    larger operand; otherwise dividing the rows keeps a row with the thread that has it in cache.
    """
    stage, shape = next(iter(products.items()))
    as_they_are = shape.pairs == shape.a or is_packed_in_tasks(shape)
    if REPACKED not in stage.op.attributes and not as_they_are:
        return False
    return shape.size(shape.columns) > shape.size(shape.rows)


def _order_rows(stages: list[Stage], products: dict[Stage, Contraction]) -> int:
    """Put outer columns in front of the rows, and make the contiguous ones inner (in place).

    Gives how many rows are outer columns of a product. The last row is what tiles go along.
    """
    places = range(len(stages[0].rows))
    inner = [
        p for p in places if any(s.rows[p] == shape.inner_column for s, shape in products.items())
    ]
    outer = [
        p
        for p in places
        if p not in inner and any(s.rows[p] in shape.columns for s, shape in products.items())
    ]
    rest = [p for p in places if p not in inner and p not in outer]
    for stage in stages:
        stage.inner = tuple(stage.rows[p] for p in inner) + stage.inner
        stage.rows = tuple(stage.rows[p] for p in (*outer, *rest))
    return len(outer)


def _loop_over_columns(stage: Stage, columns: int) -> None:
    """Let each task of a lone product walk its outer columns, the first of its rows (in place)."""
    stage.inner = stage.rows[:columns] + stage.inner
    stage.rows = stage.rows[columns:]


def _has_tasks(products: dict[Stage, Contraction], others: int) -> bool:
    """Whether a product has tasks enough without its outer columns.

    It is better to walk those within a task, which keeps the block of rows near.
    """
    stage, shape = next(iter(products.items()))
    return others * -(-stage.extents[shape.inner_column] // (shape.panel or 1)) >= TASKS


def _by_panels(stages: list[Stage], products: dict[Stage, Contraction]) -> bool:
    """Whether the kernel can go panel by panel."""
    if len(products) != 1:
        return False
    product, shape = next(iter(products.items()))
    if len(stages) == 1:
        return True
    if stages[0] is not product or not all(s.is_pointwise for s in stages[1:]):
        return False
    if any(product.extents[d] != 1 for d in _kept_inner(product) if d != shape.inner_column):
        return False
    if any(s.inner_extents != (product.extents[shape.inner_column],) for s in stages[1:]):
        return False
    return _columns_stay_apart(stages, {product: (shape.inner_column,)})


def _columns_stay_apart(stages: list[Stage], columns: dict[Stage, tuple[int, ...]]) -> bool:
    """Whether each stage reads of the ones before it only the column that it is at itself."""
    for number, stage in enumerate(stages):
        own = columns.setdefault(stage, stage.inner)
        for before in stages[:number]:
            for write in before.writes:
                reads = [r for r in stage.reads if r.memory is write.memory]
                if any(match_order(columns[before], write, r) != own for r in reads):
                    return False
    return True


def _kept_inner(stage: Stage) -> list[int]:
    return [d for d in stage.inner if d not in stage.reduced]


def _has_blocked_rows(stages: list[Stage], products: dict[Stage, Contraction]) -> bool:
    """Whether the last row dimension is one that every product walks with its row operand only."""
    if not stages[0].rows:
        return False
    return all(stage.rows[-1] in shape.rows for stage, shape in products.items())


def _bits(products: dict[Stage, Contraction]) -> int:
    stage = next(iter(products))
    return stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def _shared_rows(rows: int) -> int:
    """Rows of a task that takes whole rows: fewer where threads would find no work."""
    return max(PRODUCT_ROWS, min(ROW_MODE_ROWS, -(-rows // THREADS)))


def _block_rows(
    rows: int,
    products: dict[Stage, Contraction],
    target: Target,
    bits: int,
    most: int,
    scratch: BlockScratch | None,
) -> int:
    """Rows per task, balanced over the blocks: operands and scratch fit half the L2 cache.

    Some of the stack is left for what else a task keeps.
    """
    sums = (
        shape.size(shape.summed) * (bits if shape.pairs is None else HALF_BITS) // 8
        for shape in products.values()
    )
    read = max(sums)
    kept = 0 if scratch is None else scratch.row_bytes
    room = min(target.l2_bytes // 2, STACK_BYTES // 4 * 3)
    fitting = room // max(1, read if scratch is None else max(read, kept))
    wanted = max(1, min(most, max(LEAST_BLOCK, fitting), rows))
    blocks = -(-rows // wanted)
    block = -(-rows // blocks)
    step, smallest = 1, min(rows, TILE_ROWS)
    if any(shape.pairs is not None for shape in products.values()):
        step = TILE_ROWS
        block = -(-block // step) * step
    else:
        tiles = (choose_tile(c.panel or 1, bits, block, target) for c in products.values())
        smallest = min(tile.rows for tile in tiles)
    # The last block must hold one whole tile, which may overlap its neighbour otherwise.
    while rows % block and rows % block < smallest:
        block += step
    return min(block, rows)
