"""Kernels around packed matrix products: blocks of rows, products into scratch, epilogues.

Where the epilogue is pointwise, it may run panel by panel on scratch that stays in the first-level
cache, and tasks divide rows and columns. Where it needs whole rows (softmax, layer norm, a second
product), tasks divide rows only and scratch holds a block of whole rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.schedule.block_scratch import plan_block
from lamina.passes.schedule.bounded_block import BoundedBlock, balanced
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.even_blocks import EvenBlocks, shares_evenly
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
from lamina.passes.schedule.packed_product import Blocks
from lamina.passes.schedule.panel_epilogue import PanelEpilogue
from lamina.passes.schedule.product_ends import ProductEnds
from lamina.passes.schedule.product_task import TaskDomain
from lamina.passes.schedule.row_epilogue import RowEpilogue
from lamina.passes.schedule.row_loops import RowLoops, row_loops
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.stream_plan import StreamPlan
from lamina.passes.schedule.streamed_product import StreamedProduct
from lamina.passes.schedule.sweeps import match_order, outputs_of

Products = dict[Stage, Contraction]


def schedule_product_kernel(
    emit: Emitter, stages: list[Stage], memory: Memory, tasks: ProductTasks
) -> None:
    """Emit the whole part as its schedule says."""
    products = products_of(stages)
    columns, batches, behind = order_rows(stages, products, jammed_row(products))
    panel_mode = computes_at_panels(stages, products, tasks)
    blocks = blocks_of(stages, products, tasks)
    extents = outer_extents(stages, products)
    if tasks.outer_columns == "loops":
        loop_over_columns(stages, columns)
        extents, columns = extents[columns:], 0
    lines = RowLoops()
    if count := tasks.inner_rows:
        (shape, *_) = products.values()
        lines = row_loops(stages, shape, blocks, count, panel_mode=panel_mode)
    stream = None if panel_mode else stream_of(stages, products)
    scratch = None if panel_mode else plan_block(stages, products, stream)
    builder = PanelEpilogue if panel_mode else RowEpilogue
    if stream is not None:
        builder = partial(StreamedProduct, plan=stream)
    bounded = None
    if scratch is not None and blocks.is_blocked:
        bounded = BoundedBlock.of(scratch.segments, products)
    if bounded is not None:
        bounded = bounded.with_counts(emit, dict(enumerate(memory.flat.values())))
    kernel = builder(stages, products, memory, outputs_of(stages), blocks, scratch, bounded)
    splits = tasks.columns or 1
    _verify_splits(stages, products, splits, panel_mode=panel_mode)
    kernel.lines = lines
    rows, block = blocks.rows, blocks.size
    ends = _ends(emit, stages[0], len(extents), memory)
    wide, outer, in_block = ends[:columns], ends[columns:-1], ends[-1]
    if lines.places:
        walked = len(lines.places)
        outer, behind = outer[:-walked], max(0, behind - walked)
    in_blocks = block_ends(emit, in_block, rows, block)
    is_level = bounded is None or bounded.is_level
    if not is_level and len(in_blocks) > 1:
        in_blocks = [End.of(blocks.count)]
    flat = dict(enumerate(memory.flat.values()))
    for stage, shape in products.items():
        own = ProductEnds.of(stage, shape, panel_mode=panel_mode)
        kernel.ends[stage] = own.read(emit, flat)
    stage, shape = next(iter(products.items()))
    each = -(-stage.extents[shape.inner_column] // (shape.panel or 1)) // splits
    parts = [End(splits, kernel.ends[stage].parts(emit, splits, each) if panel_mode else splits)]
    least = tile_rows(products, blocks)
    even = None
    if tasks.num_threads is not None:
        if not is_level or not can_share_evenly(stages, products, blocks):
            raise illegal(stages[0].op, "num_threads: only live rows of a product are shared so")
        around = count_of(emit, [end for group in (*wide, *outer, parts) for end in group])
        even = EvenBlocks.of(emit, in_block, around, (least, block), tasks.num_threads)
        in_blocks = even.ends
    columns_first = tasks.order == "columns"
    front = len(outer) - behind
    digits = [*outer[:front], in_blocks, *outer[front:]]
    inside = batches if columns_first else len(digits)
    order = [*digits[:inside], *wide, parts, *digits[inside:]]
    count = count_of(emit, [end for group in order for end in group])

    def task(inner: Emitter, number: Index) -> None:
        at = split_digits(inner, number, order)
        column_at, split = at[inside : inside + columns], at[inside + columns]
        row_at = [*at[:inside], *at[inside + columns + 1 :]]
        block_number, outer_at = row_at[front], [*row_at[:front], *row_at[front + 1 :]]
        if not is_level:
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

    emit.tasks(count, task, parallel=tasks.parallel)


def can_share_evenly(stages: list[Stage], products: Products, blocks: Blocks) -> bool:
    """Whether blocks of live rows may be of any size."""
    if not blocks.live:
        return False
    digits = live_digits(stages[0].op)[stages[0].rows[-1]]
    return shares_evenly(digits, blocks.size, tile_rows(products, blocks))


def tile_rows(products: Products, blocks: Blocks) -> int:
    """Rows that each block has at least: those of the largest tile that may be its only one."""
    jams = [stage.schedule.jam for stage in products]
    tiled = any(shape.pairs is not None for shape in products.values())
    if tiled or any(jam is None for jam in jams):
        return blocks.fewest
    tails = [stage.schedule.tail for stage in products]
    return max(
        tail[-1] if tail else jam.count
        for tail, jam in zip(tails, jams, strict=True)
        if jam is not None
    )


def _ends(emit: Emitter, stage: Stage, outer: int, memory: Memory) -> list[list[End]]:
    """Where the digits of each outer row end, and those of the row that blocks divide."""
    digits = live_digits(stage.op)
    flat = dict(enumerate(memory.flat.values()))
    found = [
        ends_of(emit, digits.get(dim, (Digit(stage.extents[dim]),)), flat) for dim in stage.rows
    ]
    return found if len(found) > outer else [*found, []]


def stream_of(stages: list[Stage], products: Products) -> StreamPlan | None:
    """How tasks of whole rows walk a dimension in blocks, if they do; rows are in order."""
    return StreamPlan.of(stages, products) if has_blocked_rows(stages, products) else None


def products_of(stages: list[Stage]) -> Products:
    """The packed products among the stages."""
    return {s: c for s in stages if (c := Contraction.of(s.op)) and c.panel is not None}


def jammed_row(products: Products) -> int | None:
    """The row of the first product that its schedule has tiles go along, if it says."""
    stage, shape = next(iter(products.items()))
    jam = stage.schedule.jam
    return None if jam is None or jam.dim not in shape.rows else jam.dim


def order_rows(
    stages: list[Stage], products: Products, tiled: int | None = None
) -> tuple[int, int, int]:
    """Put outer columns in front of the rows, and make the contiguous ones inner (in place).

    Behind them come batches, such as the groups of a convolution: the last row is what tiles go
    along, and the panels of a batch stay near while its rows are multiplied. That is the last one,
    or the one that is `tiled`, a dimension of the first product. Gives how many rows are outer
    columns of a product, how many are batches, and how many stood behind the tiled one: neighbours
    in memory, as the places of a window are, which one thread had better write.
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
    left = [p for p in places if p not in inner and p not in outer]
    batches = [p for p in left if any(s.rows[p] in shape.batch for s, shape in products.items())]
    rest = [*batches, *(p for p in left if p not in batches)]
    first, behind = next(iter(products)), 0
    at = next((n for n, p in enumerate(rest) if first.rows[p] == tiled), None)
    if at is not None:
        behind = len(rest) - 1 - at
        rest.append(rest.pop(at))
    for stage in stages:
        stage.inner = tuple(stage.rows[p] for p in inner) + stage.inner
        stage.rows = tuple(stage.rows[p] for p in (*outer, *rest))
    return len(outer), len(batches), behind


def outer_extents(stages: list[Stage], products: Products) -> list[int]:
    """Extents of the rows that are not divided into blocks."""
    extents = [stages[0].extents[d] for d in stages[0].rows]
    return extents[:-1] if has_blocked_rows(stages, products) else extents


def blocks_of(stages: list[Stage], products: Products, tasks: ProductTasks) -> Blocks:
    """How the last rows are divided; all in one block where the schedule does not say."""
    is_blocked = has_blocked_rows(stages, products)
    if not is_blocked:
        return Blocks(is_blocked, 1, 1)
    first, last = stages[0], stages[0].rows[-1]
    rows = first.extents[last]
    live = any(digit.count is not None for digit in live_digits(first.op).get(last, ()))
    return Blocks(is_blocked, rows, min(rows, tasks.block or rows), live)


def loop_over_columns(stages: list[Stage], columns: int) -> None:
    """Let each task of a lone product walk its outer columns, the first of its rows (in place)."""
    if len(stages) > 1:
        raise illegal(stages[0].op, "outer_columns = loops: only a product alone may")
    for stage in stages:
        stage.inner = stage.rows[:columns] + stage.inner
        stage.rows = stage.rows[columns:]


def computes_at_panels(stages: list[Stage], products: Products, tasks: ProductTasks) -> bool:
    """Whether the epilogue is computed for each panel: so it is where it can, unless told."""
    can = runs_by_panels(stages, products)
    if tasks.compute_at == "panel" and not can:
        raise illegal(
            stages[0].op, "compute_at = panel: what follows the product needs more than its panel"
        )
    return can and tasks.compute_at != "block"


def runs_by_panels(stages: list[Stage], products: Products) -> bool:
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


def has_blocked_rows(stages: list[Stage], products: Mapping[Stage, Contraction]) -> bool:
    """Whether the last row dimension is one that every product walks with its row operand only."""
    if not stages[0].rows:
        return False
    return all(stage.rows[-1] in shape.rows for stage, shape in products.items())


def _verify_splits(
    stages: list[Stage], products: Products, splits: int, *, panel_mode: bool
) -> None:
    """Raises InputError for ranges of columns that are no whole panels, or of whole rows."""
    if splits == 1:
        return
    stage, shape = next(iter(products.items()))
    panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
    if not panel_mode or panels % splits:
        legal = f"a divisor of {panels} panels" if panel_mode else "1 where tasks take whole rows"
        raise illegal(stages[0].op, f"columns = {splits}: it is {legal}")
