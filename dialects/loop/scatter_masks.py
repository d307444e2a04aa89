"""Masks of a scatter's updates that are true wherever it runs: those of the rows that count.

A scatter of padded updates asks for each point whether it counts. Where its rows end at the number
below which a mask is true (`live` of `#loop.nest`, `lamina.masks` of its kernel), the answer is
known: it runs no others.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.scatter import ScatterOp


def masks_within_rows(op: ScatterOp, masks: Mapping[SSAValue, int]) -> dict[int, SSAValue]:
    """For each read of a scatter that is true at all points of the rows that count, by its number,
    the mask. `masks` are true below the numbers in other arguments."""
    live, rows = live_rows_of(op), rows_of(op)
    digits = None if live is None else live.by_row([op.extents[dim] for dim in rows])
    own = dict(zip(rows, digits or (), strict=False))
    found: dict[int, SSAValue] = {}
    for number, (value, index_map) in enumerate(zip(op.inputs, op.read_maps, strict=True)):
        if value not in masks or len(index_map.results) != 1:
            continue
        place = index_map.results[0]
        if not isinstance(place, AffineDimExpr):
            continue
        extent = op.extents[place.position]
        if tuple(own.get(place.position, ())) == (Digit(extent, masks[value]),):
            found[number] = value
    return found
