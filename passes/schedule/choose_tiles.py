"""Register tiles of products: in vectors of multiply-adds, or of dot products of pairs."""

from __future__ import annotations

from math import prod

from lamina.codegen.target import Target
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS
from lamina.passes.cost.cache_shares import row_copy_bytes
from lamina.passes.cost.product_limits import MIN_PANELS, WAY_BYTES
from lamina.passes.schedule.choose_sweeps import decide
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.product import summed_dims
from lamina.passes.schedule.product_task import Blocks, rows_of_tiles
from lamina.passes.schedule.row_operand import ROW_PADDING_BYTES
from lamina.passes.schedule.stages import Stage


def choose_register_tile(
    stage: Stage, shape: Contraction, blocks: Blocks, memory: Memory, target: Target
) -> None:
    """The register tile of a product, and whether its rows are copied first."""
    assert shape.panel is not None
    row, fewest, extra = rows_of_tiles(stage, shape, blocks)
    bits = stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    lanes = min(shape.panel, target.lanes(bits))
    vectors = shape.panel // lanes
    height = tile_height(lanes, vectors, blocks.size if blocks.is_blocked else fewest, target)
    height = min(height, fewest)
    decide(stage, vectorize=By(shape.inner_column, lanes), unroll=vectors)
    if row is not None:
        decide(stage, jam=By(row, height))
        block = blocks.size if blocks.is_blocked else stage.extents[row]
        terms = stage.schedule.terms
        if not extra and _gains_copy(stage, shape, row, memory, block, terms, target):
            decide(stage, cache_read=(shape.a,))


def choose_dots(stage: Stage, shape: Contraction, blocks: Blocks, target: Target) -> None:
    """The register tile of a product packed in pairs, in vectors of dot products."""
    row, fewest, _ = rows_of_tiles(stage, shape, blocks)
    if shape.pairs == shape.a:
        # Two tiles of rows share what is broadcast, of fewer columns: all sums stay in registers.
        rows = blocks.size if blocks.is_blocked else fewest
        unroll = 2 if rows > TILE_ROWS else 1
        vectors, columns = By(shape.inner_row, TILE_COLUMNS), TILE_COLUMNS // unroll
        decide(stage, vectorize=vectors, unroll=unroll, jam=By(shape.inner_column, columns))
        return
    across = TILE_PANEL // TILE_COLUMNS
    decide(stage, vectorize=By(shape.inner_column, TILE_COLUMNS), unroll=across)
    if row is not None:
        rows = blocks.size if blocks.is_blocked else fewest
        height = tile_height(TILE_COLUMNS, across, rows, target)
        decide(stage, jam=By(row, min(height, fewest, TILE_ROWS)))


def tile_height(lanes: int, vectors: int, rows: int, target: Target) -> int:
    """Rows of a register tile for a panel of so many vectors and a block of `rows` rows.

    Cost of a height: vector operations per row of result, counting the rows that a partly filled
    last tile computes twice and the loads of the panel that every tile repeats.
    """
    limit = max(1, (target.vector_registers - vectors - 2) // vectors)
    best, best_cost = 1, float("inf")
    for height in range(1, min(limit, rows) + 1):
        tiles = -(-rows // height)
        cost = tiles * (height * vectors + 0.75 * vectors + 0.25 * height)
        if cost < best_cost or (cost == best_cost and height > best):
            best, best_cost = height, cost
    return best


def _gains_copy(
    stage: Stage,
    shape: Contraction,
    row: int,
    memory: Memory,
    block: int,
    terms: int | None,
    target: Target,
) -> bool:
    """Whether a block of `block` rows of the operand should be copied before its product.

    Of so many `terms`, if the sum is taken in blocks.
    """
    access, summed = stage.reads[shape.a], summed_dims(stage, shape)
    panels = -(-stage.extents[shape.inner_column] // (shape.panel or 1))
    if access.memory in memory.scratch or panels < MIN_PANELS:
        return False
    size = getattr(access.element, "bitwidth", 32) // 8
    length = prod(stage.extents[d] for d in summed) if terms is None else terms
    row_bytes = length * size + ROW_PADDING_BYTES
    if block * row_bytes > row_copy_bytes(target):
        return False
    if access.stride(summed[-1]) != 1:
        return True
    return (access.stride(row) * size) % WAY_BYTES == 0


def register_height(shape: Contraction, bits: int, rows: int, target: Target) -> int:
    """Rows of the register tile of a product of elements of so many bits, for so many rows."""
    panel = shape.panel or 1
    lanes = min(panel, target.lanes(bits))
    return tile_height(lanes, panel // lanes, rows, target)
