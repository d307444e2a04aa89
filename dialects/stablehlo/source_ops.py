"""Which ops say that a program is one of StableHLO."""

from __future__ import annotations

from xdsl.ir import Operation

DIALECTS = ("stablehlo", "chlo", "sdy")
"""The dialects whose ops stand in a program of StableHLO."""


def marks_stablehlo(op: Operation) -> bool:
    """Whether an op is one of StableHLO, or of what stands beside it."""
    return op.name.partition(".")[0] in DIALECTS
