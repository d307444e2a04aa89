"""Nests that are made of the very parts of one that was verified need no second look.

A program repeats its layers, and attributes and types of equal nests are the same objects.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from lamina.dialects.identity_cache import KnownGroups
from lamina.dialects.loop.body_ops import YieldOp
from lamina.dialects.loop.segments import SEGMENTS

# pyright: reportPrivateUsage=false

_PROPERTIES = ("domain", "input_maps", "pads", "output_maps", "combiners", SEGMENTS)

valid_nests = KnownGroups()
"""What is in order, as `nest_parts` has it."""


def nest_parts(op: Operation) -> tuple[Any, ...] | None:
    """All that says whether a nest is well formed, beside its body's ops and what is noted on it.

    None for one that has more than most: regions that combine, slices, or an unusual body.
    """
    held = op.properties
    if len(held) != len(_PROPERTIES) or len(op.regions) != 1 or op._successors:
        return None
    block = op.regions[0]._first_block
    if block is None or block._next_block is not None or type(block._last_op) is not YieldOp:
        return None
    values = (op._operands, op.results, block._args, block._last_op._operands)
    types = [(*[value._type for value in group], None) for group in values]
    return (*map(held.get, _PROPERTIES), *types[0], *types[1], *types[2], *types[3])
