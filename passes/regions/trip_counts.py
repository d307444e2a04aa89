"""How often an op in branches and loops runs, as far as that is known."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation

from lamina.dialects.control import ScanOp, WhileOp
from lamina.passes.cost.loop_trips import WHILE_ROUNDS, trips


def trip_count(op: Operation) -> int:
    """Runs of an op in one run of its function, with every branch taken.

    Loops by a condition count as one round.
    """
    count = 1
    above = op.parent_op()
    while above is not None:
        if isinstance(above, ScanOp):
            count *= max(0, above.length)
        elif isinstance(above, scf.ForOp):
            count *= int(trips(above))
        above = above.parent_op()
    return count


def is_in_while(op: Operation) -> bool:
    """Whether a loop by a condition is around an op."""
    above = op.parent_op()
    while above is not None:
        if isinstance(above, WhileOp | scf.WhileOp):
            return True
        above = above.parent_op()
    return False


def estimated_runs(op: Operation) -> int:
    """`trip_count` with a guess for loops by a condition."""
    return trip_count(op) * (WHILE_ROUNDS if is_in_while(op) else 1)
