"""Kernel calls of an entry as teams of threads see them: what they take, touch and wait for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute

from lamina.dialects.loop.live_rows import LiveRows, LiveRowsAttr
from lamina.dialects.loop.team import SHARED
from lamina.dialects.records import record
from lamina.passes.cost.team_cost import LIVE, NANOSECONDS
from lamina.passes.memory.memory_accesses import Access, conflict, written_arguments
from lamina.passes.refusal import invalid

FREE_OPS = frozenset({"arith.constant", "arith.addi", "memref.view", "loop.reshape", "loop.row"})
"""Ops of an entry that only name memory, or a step: they may stand in front of a team, and in loops
of one, where each thread has them for itself."""


@record
class Kernel:
    """A kernel: its least nanoseconds, None if nobody said, and whether threads share it."""

    nanoseconds: int | None
    shared: bool
    written: dict[int, bool]
    live: LiveRows | None = None
    """The rows that the time is for, where they count in part."""


@record
class Call:
    """One kernel call and the memory that it touches."""

    op: func.CallOp
    kernel: Kernel
    accesses: Sequence[Access]


def kernel_of(function: func.FuncOp) -> Kernel:
    """A kernel as others noted it. Raises InputError for live rows that end at no number of it."""
    estimate = function.attributes.get(NANOSECONDS)
    nanoseconds = estimate.value.data if isinstance(estimate, IntegerAttr) else None
    live = function.attributes.get(LIVE)
    if live is not None:
        _verify_live(function, live)
    return Kernel(
        nanoseconds,
        SHARED in function.attributes,
        written_arguments(function),
        live.data if isinstance(live, LiveRowsAttr) else None,
    )


def _verify_live(function: func.FuncOp, live: Attribute) -> None:
    """Raises InputError for rows that end at no number of the kernel."""
    kinds = list(function.function_type.inputs)
    if not isinstance(live, LiveRowsAttr) or any(
        number >= len(kinds) or kinds[number] != MemRefType(i64, []) for number in live.data.counts
    ):
        legal = f"a #{LiveRowsAttr.name} of digits that end at arguments of memref<i64>"
        raise invalid(function, f"{LIVE} is {legal}, not {live}")


def must_wait(call: Call, own: Sequence[Access], other: Call, access: Access) -> bool:
    """Whether a call with its `own` accesses needs a barrier behind an earlier one; one thread
    keeps its own order."""
    return (call.kernel.shared or other.kernel.shared) and conflict([access], own)
