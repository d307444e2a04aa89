"""When several threads pay: what a kernel takes on one core, against what a team costs.

Times are the least that the target's roofline allows, in nanoseconds.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation

from lamina.codegen.roofline import CLOCK_HZ, Roofline
from lamina.dialects.loop import GenericOp
from lamina.passes.fusion_cost import work
from lamina.passes.kernel_costs import kernel_cost
from lamina.passes.outline_kernels import KERNEL
from lamina.passes.scheduling.lone_ops import lone_work
from lamina.passes.trip_counts import estimated_runs

NANOSECONDS = "lamina.nanoseconds"
"""Attribute of scheduled kernels: the estimate for one call on one core."""

FORK = 1200
"""Nanoseconds that starting a team and waiting for its end take, while its threads still spin."""

BARRIER = 200
"""Nanoseconds for a barrier and for what one core then fetches of what another wrote."""

LEAST_THREADS = 2
"""A team is planned for so many: more only make it pay earlier."""


def team_pays(nanoseconds: int, barriers: int) -> bool:
    """Whether two threads save more of this work of one than a fork and these barriers take."""
    return nanoseconds - nanoseconds // LEAST_THREADS >= FORK + barriers * BARRIER


def sharing_pays(nanoseconds: int) -> bool:
    """Whether a kernel of a team is better shared among its threads than left to one."""
    return nanoseconds - nanoseconds // LEAST_THREADS >= BARRIER


def kernel_nanoseconds(function: func.FuncOp, machine: Roofline) -> int:
    """The estimate for one call of a bufferized kernel."""
    traffic = kernel_cost(function).traffic
    vector = sum(
        work(op) * max(1.0, _widest(op) / 32)
        for op in function.body.walk()
        if isinstance(op, GenericOp)
    )
    scalar = sum(map(lone_work, function.body.walk()))
    return round(1e9 * (machine.seconds(traffic, int(vector)) + scalar / CLOCK_HZ))


def program_nanoseconds(module: ModuleOp, machine: Roofline) -> int:
    """The estimate for one run of the entry that takes longest."""
    kernels: dict[str, int] = {}
    entries: list[func.FuncOp] = []
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp):
            if KERNEL in function.attributes:
                kernels[function.sym_name.data] = kernel_nanoseconds(function, machine)
            else:
                entries.append(function)
    totals = [
        sum(
            kernels.get(call.callee.root_reference.data, 0) * estimated_runs(call)
            for call in entry.body.walk()
            if isinstance(call, func.CallOp)
        )
        for entry in entries
    ]
    return max(totals or kernels.values(), default=0)


def _widest(op: Operation) -> int:
    """Bits of the widest element that an op touches."""
    kinds = [v.type.element_type for v in op.operands if isinstance(v.type, MemRefType)]
    return max((getattr(kind, "bitwidth", 64) for kind in kinds), default=32)
