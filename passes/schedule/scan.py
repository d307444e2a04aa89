"""Schedule of `loop.scan`: one pass along the dimension, other dimensions in parallel.

Each point waits for the one before it. Several lines at once keep the units busy meanwhile.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop import ScanOp
from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.memory_ops import store_op
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import Blocks, LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.points import Point, needed_for


def schedule_scan(emit: Emitter, op: ScanOp, memory: Memory, tasks: UnstructuredTasks) -> None:
    """Emit a loop over the other dimensions' points around the loop that hands values on."""
    extents, along = op.extents, op.dim
    if 0 in extents:
        return
    others = [dim for dim in range(len(extents)) if dim != along]
    strides = row_major_strides(extents)
    offset = Linear.of(dict(enumerate(strides)), 0)
    ops = needed_for(op, op.yielded)
    carried = op.block.args[len(op.inputs) + len(op.sources) :]

    lines = prod(extents[dim] for dim in others)
    together = tasks.jam or 1
    if lines % together:
        raise illegal(op, f"jam = {together}: it divides the {lines} lines")
    count = len(op.starts)
    domain = LiveDomain.of(emit, op, memory)

    def scan(inner: Emitter, first: Index, width: int) -> None:
        """So many lines side by side."""
        places = [domain.split(inner, inner.plus(first, k), others) for k in range(width)]

        def step(within: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            handed_on: list[SSAValue] = []
            for k, place in enumerate(places):
                position = [*place[:along], at, *place[along:]]
                point = Point(within, op, memory, position)
                point.bind(carried, values[k * count : (k + 1) * count])
                point.run(ops)
                made = [point.value(v) for v in op.yielded]
                target = within.value(within.linear(offset, dict(enumerate(position))))
                for value, out in zip(made[count:], op.outs, strict=True):
                    within.run(store_op(value, memory.flat[out], [target]))
                handed_on += made[:count]
            return handed_on

        starts = [inner.constant(s) for s in op.starts] * width
        inner.loop(0, domain.prefix(inner, along), 1, starts, step)

    blocks = Blocks.of(emit, domain, others, together)
    blocks.tasks(emit, scan, parallel=tasks.parallel)
