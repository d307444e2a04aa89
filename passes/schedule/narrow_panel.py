"""The last panel of columns that end at a number of the call, in half of its vectors.

A line of an image of 14 pixels fills half of a panel of 32: where a call's columns end so early in
a panel, register tiles of half as many vectors compute all of them.
"""

from __future__ import annotations

from copy import copy as copied

from xdsl.dialects import arith

from lamina.passes.cost.product_limits import NARROW_PANELS
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.product import ProductEmitter
from lamina.passes.schedule.sum_blocks import SumBlock
from lamina.passes.schedule.tile_product import TileProduct


def panel_block(
    tiles: ProductEmitter | TileProduct,
    emit: Emitter,
    env: Env,
    rows: tuple[Index, Index],
    panel: Index,
    terms: SumBlock,
    *,
    masked: bool,
) -> None:
    """All tiles of one panel, in no more vectors than have columns; see `ProductEmitter.block`."""
    if not masked or not isinstance(tiles, ProductEmitter) or not _may_be_narrow(tiles):
        tiles.block(emit, env, rows, panel, terms, masked=masked)
        return
    assert tiles.columns is not None
    few = copied(tiles)
    few.vectors = -(-tiles.vectors // 2)
    left = emit.value(emit.minus(tiles.columns, emit.times(panel, tiles.tile.panel)))
    widest = emit.value(few.vectors * tiles.tile.lanes)
    emit.branch(
        emit.add(arith.CmpiOp(left, widest, "sle")),
        lambda then: few.block(then, env, rows, panel, terms, masked=True),
        lambda other: tiles.block(other, env, rows, panel, terms, masked=True),
    )


def _may_be_narrow(tiles: ProductEmitter) -> bool:
    """Whether the last panel of a call's columns is a good part of all, and stored at once."""
    panels = -(-tiles.stage.extents[tiles.column] // tiles.tile.panel)
    is_open = tiles.columns is not None and tiles.sums is None
    return is_open and tiles.vectors > 1 and panels <= NARROW_PANELS


__all__ = ["panel_block"]
