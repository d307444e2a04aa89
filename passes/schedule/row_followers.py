"""What is computed of the register tiles of a product by tasks that take whole rows.

Scratch for whole rows holds what a later nest reads; what follows a product point by point need not
wait for all columns. Its own operands are then read while others are multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamina.dialects.loop.contraction import Contraction
from lamina.passes.schedule.bounded_block import is_bounded
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.product_ends import noted_sum
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.sweeps import columns_stay_apart


def verify_row_followers(
    stage: Stage, products: Mapping[Stage, Contraction], followers: Sequence[Stage]
) -> None:
    """Raises InputError for nests that cannot be computed of the tiles of a product."""
    reason = why_apart(stage, products[stage], followers)
    if reason is not None:
        raise illegal(followers[0].op, f"compute_with: {reason}")


def why_apart(stage: Stage, shape: Contraction, followers: Sequence[Stage]) -> str | None:
    """Why followers of a product need loops of their own; None where they do not."""
    if not all(s.is_pointwise and not s.totals and not s.op.sources for s in followers):
        return "nests of register tiles are pointwise"
    if any(s.inner_extents != (stage.extents[shape.inner_column],) for s in followers):
        return "nests of register tiles run over the columns of the product"
    kept = [d for d in stage.inner if d not in stage.reduced]
    if any(stage.extents[d] != 1 for d in kept if d != shape.inner_column):
        return "rows and columns of such a product are one dimension each"
    if any(read.pad is not None for s in followers for read in s.reads):
        return "nests of register tiles read no padded operand"
    if not columns_stay_apart([stage, *followers], {stage: (shape.inner_column,)}):
        return "each nest of a register tile reads what those in front made at the same column"
    if any(is_bounded(s) or live_digits(s.op) for s in (stage, *followers)):
        return "all rows and columns of such a product count"
    return "its sum ends at a number of the call" if noted_sum(stage.op, shape) else None
