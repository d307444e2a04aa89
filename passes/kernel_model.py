"""What it costs to run nests as one kernel, against two kernels: the roofline model of merging.

One kernel reads what both read only once, keeps what they hand on near, and spares a call and a
wait of all threads. It has only the rows that its nests share, though, so that fewer threads may
find work; and a product in it reads its packed operand again for each block of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.passes.fusion_cost import value_bytes, work
from lamina.passes.fusion_estimate import (
    BARRIER_SECONDS,
    KERNEL_SECONDS,
    LINE_BYTES,
    Estimate,
)

THREADS = 8
"""Threads that rows are shared out among, if there are so many rows: more only add to it."""
HAND_OVER = KERNEL_SECONDS + BARRIER_SECONDS
"""What a kernel of its own takes besides its work: its call, and a barrier in front of it."""
SERIAL_SECONDS = 2 * BARRIER_SECONDS
"""Work of which a second thread would save no more than the barrier that it takes."""


def seconds(nests: Sequence[GenericOp], machine: Roofline) -> float:
    """The least time of the nests as one kernel on one core."""
    return machine.seconds(_traffic(nests), sum(map(work, nests)))


def _traffic(nests: Sequence[GenericOp]) -> int:
    """Bytes of all that the nests read and write, each array once; of tables, what they look up."""
    values = dict.fromkeys(v for n in nests for v in (*n.inputs, *n.res))
    tables: dict[SSAValue, int] = {}
    for nest in nests:
        for table in nest.sources:
            tables[table] = tables.get(table, 0) + prod(nest.extents) * LINE_BYTES
    looked_up = sum(min(value_bytes(t), n) for t, n in tables.items() if t not in values)
    return looked_up + sum(map(value_bytes, values))


def estimate_rows(
    nests: Sequence[GenericOp], rows: int, spared: int, machine: Roofline
) -> Estimate:
    """Of one kernel that shares out `rows` rows, and need not move `spared` bytes again.

    With fewer rows than threads, some threads are idle.
    """
    idle = 1 / min(THREADS, max(1, rows)) - 1 / THREADS
    return Estimate(
        bytes_saved=spared,
        flops_added=0,
        seconds_saved=spared / machine.bandwidth(_traffic(nests)) + HAND_OVER,
        seconds_added=idle * seconds(nests, machine),
    )


def estimate_product(kept: int, panels: int, machine: Roofline) -> Estimate:
    """Of a product in the kernel that makes its rows: `kept` bytes of them are not stored.

    Its `panels` bytes of packed operand are read with each block of rows instead of once.
    """
    bandwidth = machine.bandwidth(kept + panels)
    return Estimate(
        bytes_saved=2 * (kept - panels),
        flops_added=0,
        seconds_saved=2 * kept / bandwidth,
        seconds_added=2 * panels / bandwidth,
    )


def estimate_small(
    one: Sequence[GenericOp], other: Sequence[GenericOp], machine: Roofline
) -> Estimate:
    """Of one thread that runs two kernels as one, whatever rows they have."""
    together = seconds((*one, *other), machine)
    shared = together >= SERIAL_SECONDS
    return Estimate(
        bytes_saved=0,
        flops_added=0,
        seconds_saved=KERNEL_SECONDS,
        seconds_added=together / 2 if shared else 0.0,
    )
