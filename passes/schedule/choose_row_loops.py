"""Whether each task of a product walks the lines of a small image, for every panel and block of its
sum (`inner_rows`, `terms`)."""

from __future__ import annotations

from math import prod

from lamina.codegen.target import Target
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import PAIR_BYTES, TILE_PANEL, is_packed_in_tasks, paired_term
from lamina.dialects.loop.schedules import ProductTasks
from lamina.dialects.loop.tiles import TILE_TERMS
from lamina.passes.cost.product_limits import (
    BLOCK_CYCLES,
    COPY_CYCLES,
    EVEN_ROUNDS,
    INNER_ROWS_GAIN,
    L2_SHOWS,
    MIN_PANELS,
    PANEL_SHARE,
    PANELS_SHARE,
    SUM_UNROLL,
    SUMS_SHARE,
    WAY_BYTES,
)
from lamina.passes.schedule.choose_sweeps import decide
from lamina.passes.schedule.live_rows import open_rows
from lamina.passes.schedule.packed_product import Blocks, panel_count
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.row_loops import most_row_loops
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sum_blocks import SumCut
from lamina.passes.schedule.tile_terms import tile_cut


def choose_row_loops(plan: ProductPlan, height: int, target: Target) -> ProductTasks:
    """Tasks that walk the lines in front of the last row, where that takes fewer cycles.

    They are those of a product by panels in memory, in register tiles of so many rows. What is
    given stays; terms of a block of the sum are decided beside.
    """
    (stage, shape), tasks, blocks = plan.first, plan.tasks, plan.blocks
    given = (tasks.inner_rows, tasks.columns, stage.schedule.terms, stage.schedule.cache_read)
    if any(clause is not None for clause in given) or not blocks.is_blocked:
        return tasks
    if shape.repacked or stage.reads[shape.b].axes:
        return tasks
    if target.lanes(stage.bits) == 1 or any(open_rows(s.op) for s in plan.stages):
        return tasks
    count = _lines_in_front(stage, shape)
    lines = stage.extents[stage.rows[-1 - count]]
    if shape.pairs is not None and not _walks_tiles(plan, lines, target):
        return tasks
    terms = _block_terms(stage, shape, target)
    sums = lines * blocks.size * (shape.panel or 1) * stage.bits // 8
    if not count or (terms is not None and sums > target.l2_bytes // SUMS_SHARE):
        return tasks
    panels, others = plan.panels, blocks.count
    others *= prod(stage.extents[d] for d in stage.rows[: -1 - count])
    cores = target.cores if tasks.parallel else 1
    if panels * others < EVEN_ROUNDS * cores and panels * others % cores:
        return tasks
    if shape.pairs is not None:
        decide(stage, terms=terms)
        return tasks.completed_by(_walking(plan, count))
    apart = _cycles(stage, shape, blocks, height, target)
    apart += _first_line(stage, shape, blocks, height, lines, target)
    together = _cycles(stage, shape, blocks, height, target, lines, terms)
    if together * INNER_ROWS_GAIN > apart:
        return tasks
    decide(stage, terms=terms)
    return tasks.completed_by(_walking(plan, count))


def choose_next_block(stage: Stage, rows: int, jam: By | None) -> None:
    """Whether the next block of a sum is fetched while so many rows are multiplied by this one."""
    if jam is not None and rows > jam.count:
        decide(stage, prefetch_panels=1)


def _walking(plan: ProductPlan, count: int) -> ProductTasks:
    """Tasks of a panel each that walk so many rows in front of the last."""
    return ProductTasks(inner_rows=count, columns=plan.panels if plan.panels > 1 else None)


def _walks_tiles(plan: ProductPlan, lines: int, target: Target) -> bool:
    """Whether matrix tiles find constant panels nearer if a task walks so many lines.

    They do where a panel leaves the nearest cache, or all of them the second-level one.
    """
    _, shape = plan.first
    if shape.pairs == shape.a or is_packed_in_tasks(shape) or lines == 1:
        return False
    if not target.multiplies_tiles:
        return False
    panel_bytes = shape.size(shape.summed) * TILE_PANEL * PAIR_BYTES
    far = plan.panels * panel_bytes >= target.l2_bytes // PANELS_SHARE
    return far or panel_bytes > target.l1d_bytes


def _lines_in_front(stage: Stage, shape: Contraction) -> int:
    """How many rows in front of the last are those of a single image: the first that has several
    positions, and those behind it. 0 if it is no row of the product alone."""
    for count, dim in enumerate(reversed(stage.rows[:-1]), 1):
        if stage.extents[dim] != 1:
            return count if count <= most_row_loops(stage, shape) else 0
    return 0


def _cycles(
    stage: Stage,
    shape: Contraction,
    blocks: Blocks,
    height: int,
    target: Target,
    lines: int = 1,
    terms: int | None = None,
) -> float:
    """Cycles of a register tile for each term: multiply-adds, and what it loads from further out
    than the nearest cache, where a task walks so many lines by blocks of so many terms."""
    size, panel = stage.bits // 8, shape.panel or 1
    length, row_bytes, rows = shape.size(shape.summed), panel * size, lines * blocks.size
    near, tiles = target.l1d_bytes // PANEL_SHARE, -(-blocks.size // height)
    panels = panel_count(stage, shape)
    cycles = height * panel / target.lanes(stage.bits) / target.arithmetic_ports
    panel_bytes = length * row_bytes
    if lines == 1 and panels * panel_bytes <= near:
        return cycles  # the next line finds them
    if terms is not None or panel_bytes <= near:
        cycles += row_bytes / (lines * tiles) / _rate(near, target)
    else:
        cycles += row_bytes / _rate(panel_bytes, target)
    access = stage.reads[shape.a]
    read, step = rows * length * size, access.stride(stage.rows[-1]) * size
    if step % WAY_BYTES == 0:  # lines of the cache in between are of few sets
        read = max(read, prod(access.shape) * size)
    read = min(read, prod(access.shape) * size)
    if read > near:
        cycles += height * size / _rate(read, target)
    if terms is not None:
        waiting = 2 * height * row_bytes / target.l2_bytes_per_cycle
        return cycles + (waiting + BLOCK_CYCLES) / terms
    return cycles


def _first_line(
    stage: Stage, shape: Contraction, blocks: Blocks, height: int, lines: int, target: Target
) -> float:
    """What the first of so many lines, each of them a task, adds to the cycles of all tiles.

    It waits for panels out of the last-level cache, and each has its rows copied, if these would
    share sets of a cache, for as many panels as stay near.
    """
    size, panel = stage.bits // 8, shape.panel or 1
    panel_bytes = shape.size(shape.summed) * panel * size
    panels = panel_count(stage, shape)
    tiles = lines * -(-blocks.size // height)
    cycles = panel * size / target.l3_bytes_per_cycle / tiles
    if stage.reads[shape.a].stride(stage.rows[-1]) * size % WAY_BYTES == 0 and panels >= MIN_PANELS:
        together = max(1, min(panels, target.l2_bytes // 2 // panel_bytes))
        cycles += height * COPY_CYCLES / target.lanes(stage.bits) / together
    return cycles


def _rate(size: int, target: Target) -> float:
    """Bytes for each cycle that is lost, from the cache that so many, and as many others, fit."""
    near = 2 * size <= target.l2_bytes
    return target.l2_bytes_per_cycle / L2_SHOWS if near else target.l3_bytes_per_cycle


def _block_terms(stage: Stage, shape: Contraction, target: Target) -> int | None:
    """Terms of a block of the sum that stays in the nearest cache; None where all do."""
    tiled = shape.pairs is not None
    row_bytes = (shape.panel or 1) * (PAIR_BYTES if tiled else stage.bits // 8)
    wanted = target.l1d_bytes // PANEL_SHARE // row_bytes
    summed = [d for d in shape.summed if stage.extents[d] != 1] or shape.summed[:1]
    extents = [stage.extents[d] for d in summed]
    if prod(extents) <= wanted:
        return None
    sizes = range(wanted * 3 // 2, 0, -1)
    if shape.pairs is None:
        cuts = [n for n in sizes if SumCut.of(extents, n) is not None]
        steps = [n for n in cuts if n % SUM_UNROLL == 0] or cuts
        return next((n for n in steps if wanted // 2 < n <= wanted), steps[0])
    place = summed.index(paired_term(shape, shape.pairs))
    if len(extents) == 1:
        size = -(-extents[0] // -(-extents[0] // wanted))
        return -(-size // TILE_TERMS) * TILE_TERMS
    steps = [n for n in sizes if tile_cut(extents, place, n) is not None]
    return next((n for n in steps if wanted // 2 < n <= wanted), next(iter(steps), None))
