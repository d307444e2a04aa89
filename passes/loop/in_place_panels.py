"""Products of few rows by columns of the call: panels that are read where they stand.

Packing stores each element of the columns and reads it again, which few rows do not make up for.
A register tile of few rows has registers for wide panels instead, so that each row of the columns
is read in runs of many vectors, as far as each core has a panel. Of more rows, sums are taken in
blocks of terms, so that a panel stays in the nearest cache from one tile to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, before_reshapes
from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.contraction import Contraction
from lamina.passes.cost.product_limits import (
    FEW_TILE_ROWS,
    IN_PLACE_ROWS,
    IN_PLACE_VECTORS,
    LEAST_WIDE_VECTORS,
    LONG_LINE_BYTES,
    PANEL_VECTORS,
    WIDE_PANEL_VECTORS,
)
from lamina.passes.cost.tile_cost import tile_height


def _vectors(rows: int, line_bytes: int, target: Target) -> Sequence[int]:
    """How many vectors panels may have that so many rows are multiplied by, the best first, where
    so many bytes lie between rows of the operand."""
    if tile_height(LEAST_WIDE_VECTORS, rows, target) >= rows:
        return [v for v in IN_PLACE_VECTORS if tile_height(v, rows, target) >= rows]
    gains = rows <= FEW_TILE_ROWS or line_bytes >= LONG_LINE_BYTES
    wide = (LEAST_WIDE_VECTORS,) if gains else ()
    return (WIDE_PANEL_VECTORS, *wide, PANEL_VECTORS)


def in_place_panel(shape: Contraction, lanes: int, target: Target) -> int | None:
    """Columns of the panels in which a product reads an operand of the call where it stands.

    None where rows are not few, columns no neighbours or no whole panels, and where another nest
    makes the operand: it may as well make panels.
    """
    op, rows = shape.op, shape.size(shape.rows)
    if not 1 < rows <= IN_PLACE_ROWS:
        return None
    if any(pad is not None for pad in op.pad_values):
        return None
    operand = op.inputs[shape.b]
    if isinstance(before_reshapes(operand).owner, GenericOp):
        return None
    forms, columns = forms_of(op.read_maps[shape.b], op.extents), op.extents[shape.inner_column]
    if forms is None or len(shape.columns) != 1 or columns < lanes:
        return None
    offset = flatten(forms, shape_of(operand))
    if offset.coefficient(shape.inner_column) != 1:
        return None
    lines = [offset.coefficient(d) for d in shape.summed if op.extents[d] > 1]
    if not lines or min(lines) < columns:
        return None
    line_bytes = min(lines) * target.vector_bits // 8 // lanes
    widths = [v * lanes for v in _vectors(rows, line_bytes, target)]
    widths = [width for width in widths if columns % width == 0]
    batch = shape.size(shape.batch)
    shared = (width for width in widths if batch * (columns // width) >= target.cores)
    return next(shared, widths[-1] if widths else None)
