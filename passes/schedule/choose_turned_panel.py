"""Whether what follows a product at its panels runs along its rows, in squares that are turned."""

from __future__ import annotations

from lamina.codegen.target import Target
from lamina.dialects.loop.clauses import By
from lamina.passes.schedule.choose_sweeps import decide, transposed_dim, widest_bits
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.sweeps import own_loops
from lamina.passes.schedule.turned_panel import runs_along_rows, with_row_innermost


def choose_turned_panel(plan: ProductPlan, target: Target) -> bool:
    """Whether the one nest behind the product writes along the rows that blocks divide; its
    schedule is decided then."""
    if len(plan.stages) != 2 or not plan.is_blocked:
        return False
    _, follower = plan.stages
    if runs_along_rows([follower]):
        return True
    if follower.schedule.compute_with is not None or own_loops(follower):
        return False
    if follower.totals or follower.op.sources or len(follower.inner) != 1:
        return False
    copy = with_row_innermost(follower)
    column, row = copy.inner
    if not all(write.stride(row) == 1 and write.stride(column) != 1 for write in copy.writes):
        return False
    lanes = target.lanes(widest_bits([copy]))
    if transposed_dim(copy, (column,), row, lanes) is None:
        return False
    decide(follower, vectorize=By(row, lanes), transpose=column)
    return True
