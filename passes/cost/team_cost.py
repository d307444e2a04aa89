"""When several threads pay: what a kernel takes on one core, against what a team costs.

Times are the least that the target's roofline allows, in nanoseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil, prod

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
from lamina.dialects.loop.kernel_nests import live_rows_of
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.op_list import instances, list_ops, ops_of
from lamina.passes.cost.fusion_cost import work
from lamina.passes.cost.kernel_costs import kernel_cost
from lamina.passes.cost.unstructured_cost import unstructured_work
from lamina.passes.regions.trip_counts import estimated_runs

NANOSECONDS = "lamina.nanoseconds"
"""Attribute of scheduled kernels: the estimate for one call on one core."""

LIVE = "lamina.live"
"""Attribute of scheduled kernels: the rows that the estimate is for, which count in part."""

LEAST_THREADS = 2
"""A team is planned for so many: more only make it pay earlier."""
LONGEST_SINGLE = 40_000
"""Nanoseconds that one thread may take while its team waits. A team is started anew in less, and
meanwhile its threads belong to others."""
LONGEST_STEP = 500_000
"""Nanoseconds of one core for each team that a step of a loop starts, up to which all steps are one
team's: a fork is half a percent of what two threads take then."""

CHUNK_BARRIERS = 25
"""Times of the target's barrier that a thread takes of a loop at once, at least: to ask for it is
one fetch of what another core may have written, which a barrier is as well, and then 4 % of it."""
LEAST_CHUNKS = 4
"""Of a loop, below which each thread runs its share at once: with fewer there is nothing to take
from a thread that is late, as it is in the last chunk of its share."""


def team_pays(nanoseconds: int, barriers: int, target: Target) -> bool:
    """Whether two threads save more of this work of one than a fork and these barriers take."""
    cost = target.fork_nanoseconds + barriers * target.barrier_nanoseconds
    return nanoseconds - nanoseconds // LEAST_THREADS >= cost


def least_paying(nanoseconds: int, rows: int, barriers: int, target: Target) -> int:
    """Of so many rows, which take this work together, the fewest of which a team pays."""
    return 1 + bisect_left(
        range(1, rows), True, key=lambda n: team_pays(nanoseconds * n // rows, barriers, target)
    )


def live_of_kernel(function: func.FuncOp) -> LiveRows | None:
    """The live rows of what a bufferized kernel does most of; None where all of them count."""
    ops = list_ops(function)
    alone, nests = instances(ops, UNSTRUCTURED_OPS), instances(ops, GenericOp)
    if alone or nests:
        return live_rows_of(alone[0] if alone else max(nests, key=lambda op: prod(op.extents)))
    return None


def sharing_pays(nanoseconds: int, target: Target) -> bool:
    """Whether a kernel of a team is better shared among its threads than left to one."""
    return nanoseconds - nanoseconds // LEAST_THREADS >= target.barrier_nanoseconds


def iterations_at_a_time(iterations: int, nanoseconds: int, target: Target) -> int | None:
    """How many iterations of a loop that takes so long on one core a thread takes at a time; None
    where it should run its share at once."""
    if iterations < LEAST_CHUNKS:
        return None
    least = CHUNK_BARRIERS * target.barrier_nanoseconds
    chunk = max(1, ceil(least * iterations / max(1, nanoseconds)))
    return chunk if iterations >= LEAST_CHUNKS * chunk else None


def kernel_nanoseconds(function: func.FuncOp, machine: Roofline) -> int:
    """The estimate for one call of a bufferized kernel."""
    traffic = kernel_cost(function).traffic
    ops = [op for op in list_ops(function) if op.name.startswith("loop.")]
    vector = sum(work(op) * max(1.0, _widest(op) / 32) for op in ops if isinstance(op, GenericOp))
    scalar = sum(map(unstructured_work, ops))
    return round(1e9 * (machine.seconds(traffic, int(vector)) + scalar / machine.clock_hz))


def program_nanoseconds(functions: Sequence[func.FuncOp]) -> int:
    """The estimate for one run of the entry that takes longest; kernels have theirs noted."""
    kernels: dict[str, int] = {}
    entries: list[func.FuncOp] = []
    for function in functions:
        noted = function.attributes.get(NANOSECONDS)
        if isinstance(noted, IntegerAttr):
            kernels[function.sym_name.data] = noted.value.data
        else:
            entries.append(function)
    totals = [
        sum(
            kernels.get(call.callee.root_reference.data, 0) * estimated_runs(call)
            for call in ops_of(entry, func.CallOp)
        )
        for entry in entries
    ]
    return max(totals or kernels.values(), default=0)


def _widest(op: Operation) -> int:
    """Bits of the widest element that an op touches."""
    kinds = [v.type.element_type for v in op.operands if isinstance(v.type, MemRefType)]
    return max((getattr(kind, "bitwidth", 64) for kind in kinds), default=32)
