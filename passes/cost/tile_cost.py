"""What register tiles of products cost, and with it their shape: rows, and vectors of a panel."""

from __future__ import annotations

from lamina.codegen.target import Target
from lamina.passes.cost.product_limits import (
    PANEL_BYTES_AHEAD,
    PANEL_LOADS,
    PANEL_MODE_ROWS,
    PANEL_VECTORS,
    ROW_LOADS,
    STREAMED_ROWS,
    STREAMING_CPUS,
    TILE_SUMS,
    WIDE_PANEL_VECTORS,
    WIDE_PANELS,
    WIDE_TILE_SUMS,
)


def tile_height(
    vectors: int,
    rows: int,
    target: Target,
    sums: int | None = None,
    panel_loads: float = PANEL_LOADS,
) -> int:
    """Rows of a register tile for a panel of so many vectors and a block of `rows` rows.

    It has so many vectors of `sums` at most, and loading one of a panel costs `panel_loads`.
    """
    if sums is None:
        sums = WIDE_TILE_SUMS if vectors == WIDE_PANEL_VECTORS else TILE_SUMS
    registers = min(target.vector_registers - vectors - 2, sums)
    heights = range(1, min(max(1, registers // vectors), rows) + 1)
    return min(heights, key=lambda n: (tiles_cost(n, vectors, rows, panel_loads), -n))


def tiles_cost(height: int, vectors: int, rows: int, panel_loads: float) -> float:
    """Vector operations for so many rows, counting those that a partly filled last tile computes
    twice and the loads of the panel that every tile repeats."""
    tiles = -(-rows // height)
    return tiles * (height * vectors + panel_loads * vectors + ROW_LOADS * height)


def panel_vectors(columns: int, lanes: int, target: Target) -> int:
    """Vectors of a panel of constant columns, whatever the rows that are multiplied by it: programs
    for several numbers of them share what they pack.

    A wide one has fewer loads of rows for each multiply-add, where it divides the columns, or is
    one of many, and the registers leave its tiles rows enough.
    """
    wide = WIDE_PANEL_VECTORS
    uneven = columns % (wide * lanes) and columns < WIDE_PANELS * wide * lanes
    if lanes == 1 or uneven:
        return PANEL_VECTORS

    def cost(vectors: int) -> float:
        height = tile_height(vectors, PANEL_MODE_ROWS, target)
        return tiles_cost(height, vectors, PANEL_MODE_ROWS, PANEL_LOADS) / vectors

    return min((PANEL_VECTORS, wide), key=cost)


def panel_bytes_ahead(rows: int, term_bytes: int, target: Target) -> int:
    """How far ahead a register tile of `rows` rows fetches a panel, of which a term (one vector or
    more of columns) has so many bytes: the next term, where the hardware goes on by itself."""
    if rows <= STREAMED_ROWS and target.cpu in STREAMING_CPUS:
        return term_bytes
    return PANEL_BYTES_AHEAD
