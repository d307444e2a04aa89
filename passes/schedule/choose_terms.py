"""Blocks of the sums of products, and what tasks pack of their columns at a time."""

from __future__ import annotations

from math import isqrt

from lamina.codegen.target import Target
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.dialects.loop.tiles import TILE_ROWS, TILE_TERMS
from lamina.passes.cost.kernel_model import LONG_PANEL, PACKED_TERMS, TERMS_AHEAD, TURNED_TERMS
from lamina.passes.cost.product_limits import (
    CHAIN,
    FEW_BLOCKED_ROWS,
    IN_PLACE_TERMS,
    LEAST_BLOCKED_ROWS,
    LEAST_LINE_BYTES,
    LONG_TILE_SUM,
    MORE_ROWS_TERMS,
    MOST_TOGETHER,
    SUM_BLOCK,
    SUM_UNROLL,
)
from lamina.passes.schedule.choose_sweeps import decide
from lamina.passes.schedule.packed_product import Blocks, PackedProduct, panel_count
from lamina.passes.schedule.stages import Stage


def choose_packing(stage: Stage, shape: Contraction, splits: int, target: Target) -> None:
    """How many columns are packed at a time, a quarter of the second-level cache at most."""
    panel, access = shape.panel or 1, stage.reads[shape.b]
    terms = sum_block(stage, shape, target)
    if access.stride(shape.inner_column) != 1:
        decide(stage, terms=terms)
        return
    size = stage.reads[shape.a].element.bitwidth // 8  # pyright: ignore[reportAttributeAccessIssue]
    panels = panel_count(stage, shape) // splits
    length = shape.size(shape.summed) if terms is None else terms
    fitting = target.l2_bytes // 4 // (length * panel * size)
    most = max(1, min(panels, fitting, MOST_TOGETHER))
    together = next(n for n in range(most, 0, -1) if panels % n == 0)
    decide(stage, tile=By(shape.inner_column, together * panel), terms=terms)


def choose_sum_blocks(product: PackedProduct, blocks: Blocks) -> None:
    """Whether a product in matrix tiles takes its sum in blocks, and of how many terms.

    Rows of long sums are copied beside the columns that are packed. Of shorter ones, or where all
    is packed, they are read as they stand, if enough of them share what is read of a panel; then
    packing, which waits for memory, goes on beside the product.
    """
    stage, shape = product.stage, product.shape
    terms, copies = stage.extents[shape.summed[0]], not product.around and is_long(shape)
    if len(shape.summed) != 1 or terms <= SUM_BLOCK or not blocks.is_blocked:
        return
    if not copies and blocks.size < LEAST_BLOCKED_ROWS:
        return
    size = -(-terms // -(-terms // SUM_BLOCK))
    block = -(-size // TILE_TERMS) * TILE_TERMS
    ahead = not copies and is_packed_in_tasks(shape) and terms % TILE_TERMS == 0
    copied = (shape.a,) if copies else None
    decide(stage, terms=block, cache_read=copied, double_buffer=ahead or None)
    if stage.schedule.double_buffer:
        decide(stage, prefetch_rows=TERMS_AHEAD)


def waiting_bytes(stage: Stage, shape: Contraction) -> int:
    """Scratch for the sums of a row, of all panels, which wait for the next block of terms."""
    return panel_count(stage, shape) * (shape.panel or 1) * stage.bits // 8


def is_long(shape: Contraction) -> bool:
    """Whether the sum of a product whose tasks pack pairs is taken in blocks."""
    if not is_packed_in_tasks(shape) or shape.size(shape.rows) <= TILE_ROWS:
        return False
    return shape.size(shape.summed) > LONG_TILE_SUM


def sum_block(stage: Stage, shape: Contraction, target: Target) -> int | None:
    """Terms of a block of the sum in register tiles; None where it is taken at once.

    Those of a panel fill the nearest cache at most, and rounding errors grow with them (`CHAIN`).
    """
    summed = [d for d in shape.summed if stage.extents[d] != 1] or shape.summed[:1]
    if shape.pairs is not None or shape.panel is None or len(summed) != 1:
        return None
    alone = [*shape.batch, *shape.rows, *shape.columns[:-1]]
    if not stage.rows or any(stage.extents[d] != 1 for d in alone if d not in stage.rows):
        return None
    if not shape.rows:
        return None  # tasks are positions of a batch: no rows share what is read of a block
    bits = stage.bits
    row_bytes, terms = shape.panel * bits // 8, stage.extents[summed[0]]
    if target.lanes(bits) == 1:
        return None
    if shape.task_packed:
        in_lines = stage.reads[shape.b].stride(shape.inner_column) == 1
        together = MOST_TOGETHER if in_lines else 1
        small = terms * row_bytes * together <= target.l2_bytes // 4
        return None if small else PACKED_TERMS if in_lines else TURNED_TERMS
    if _is_apart(stage, shape, summed[0]):
        few = stage.extents[stage.rows[-1]] <= FEW_BLOCKED_ROWS
        most = IN_PLACE_TERMS if few else MORE_ROWS_TERMS
        return None if terms <= most else _even_block(terms, most)
    if terms * row_bytes < target.l2_bytes // LONG_PANEL:
        return None
    most = max(SUM_UNROLL, min(target.l1d_bytes // row_bytes, max(CHAIN, isqrt(terms))))
    return _even_block(terms, most)


def _even_block(terms: int, most: int) -> int:
    """So many terms at most in each of blocks that are about equal."""
    size = -(-terms // -(-terms // most))
    return -(-size // SUM_UNROLL) * SUM_UNROLL


def _is_apart(stage: Stage, shape: Contraction, term: int) -> bool:
    """Whether columns are read where they stand, a row of the operand for each term, which lie
    so far apart that few are on a page."""
    access = stage.reads[shape.b]
    far = access.stride(term) * stage.bits // 8 >= LEAST_LINE_BYTES
    return far and not shape.task_packed and access.stride(term) > (shape.panel or 1)
