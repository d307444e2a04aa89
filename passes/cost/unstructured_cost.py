"""What kernels cost that are one op which is no nest of independent points."""

from __future__ import annotations

from math import log2, prod

from xdsl.ir import Operation

from lamina.dialects.loop import SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.passes.cost.fusion_cost import op_cost


def unstructured_work(op: Operation) -> int:
    """Cost units of one op; 0 for all others."""
    if isinstance(op, OrderedNest):
        return op.points * (4 + sum(op_cost(o) for o in op.block.ops))
    if isinstance(op, SortOp):
        *rows, length = shape_of(op.input)
        sorted_ones = length if op.window is None else op.window[1]
        sorting = sorted_ones * 8 * int(log2(max(1, sorted_ones)))
        return prod(rows) * (4 * length + sorting)
    return 0
