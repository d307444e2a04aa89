"""Schedule of `loop.scan`: one pass along the dimension, other dimensions in parallel."""

from __future__ import annotations

from math import prod

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.dialects.loop import ScanOp
from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.linear import Linear
from lamina.passes.scheduling.emitter import Emitter, Index
from lamina.passes.scheduling.memory import Memory
from lamina.passes.scheduling.points import Point, in_tasks, needed_for


def schedule_scan(emit: Emitter, op: ScanOp, memory: Memory, forks: bool) -> None:
    """Emit a loop over the other dimensions' points around the loop that hands values on."""
    extents, along = op.extents, op.dim
    if 0 in extents:
        return
    others = [extent for dim, extent in enumerate(extents) if dim != along]
    strides = row_major_strides(extents)
    offset = Linear.of(dict(enumerate(strides)), 0)
    ops = needed_for(op, op.yielded)
    carried = op.block.args[len(op.inputs) + len(op.sources) :]

    def line(inner: Emitter, number: Index) -> None:
        place = inner.split(number, others)

        def step(within: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            position = [*place[:along], at, *place[along:]]
            point = Point(within, op, memory, position)
            point.bind(carried, values)
            point.run(ops)
            made = [point.value(v) for v in op.yielded]
            target = within.value(within.linear(offset, dict(enumerate(position))))
            for value, out in zip(made[len(values) :], op.outs, strict=True):
                within.run(memref.StoreOp.get(value, memory.flat[out], [target]))
            return made[: len(values)]

        inner.loop(0, extents[along], 1, [inner.constant(s) for s in op.starts], step)

    in_tasks(emit, prod(others), forks, line)
