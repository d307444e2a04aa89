"""Sums of products of bf16 along a row: neighbouring terms in one dot product (`loop.dot_pairs`).

Both factors lie in memory as they are added, so that nothing is packed: lane `i` of a total adds
terms `2i` and `2i + 1` of each vector. So few rows by a linear layer's weight read it at the speed
of memory.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float32Type

from lamina.dialects.loop.rounding import IMPLICIT
from lamina.passes.schedule.stages import Stage


def sums_pairs(stage: Stage, dim: int) -> bool:
    """Whether a nest only adds up products of two bf16, which neighbour along a reduced `dim`.

    Only where the program did not ask for f32 itself: dot products take subnormal numbers for
    zeros, as eager mode's products of bf16 do.
    """
    if stage.combiners != ("add",) or stage.totals or stage.op.sources or len(stage.reads) != 2:
        return False
    if dim not in stage.reduced or not isinstance(stage.writes[0].element, Float32Type):
        return False
    neighbours = all(r.pad is None and r.stride(dim) == 1 for r in stage.reads)
    halves = all(isinstance(r.element, BFloat16Type) for r in stage.reads)
    return neighbours and halves and _multiplies(stage)


def _multiplies(stage: Stage) -> bool:
    """Whether the body yields the product of its two arguments, widened."""
    *ops, last = stage.op.block.ops
    if [op.name for op in ops] != ["arith.extf", "arith.extf", "arith.mulf"]:
        return False
    product = ops[-1]
    wide = {v.owner for v in product.operands}
    if wide != set(ops[:-1]) or list(last.operands) != [product.results[0]]:
        return False
    widened = {op.operands[0] for op in ops if isinstance(op, arith.ExtFOp)}
    return widened == set(stage.op.block.args) and all(IMPLICIT in op.attributes for op in ops[:-1])
