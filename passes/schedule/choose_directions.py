"""`choose-directions`: which products are walked to and fro by the steps of a loop.

Writes the clause `alternate` of products that read the same weights in each step of a loop, if
these exceed the target's nearer caches; `alternate-directions` carries it out. It asks what the
loops of entries call, which `choose-schedule`, a function of one kernel, does not see. What stands
in the text stays.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.schedules import SCHEDULE, ProductTasksAttr, ScheduleAttr
from lamina.dialects.records import record
from lamina.passes.cost.alternating import LEAST_SHARE, LEAST_STEPS, MOST_CACHES, MOST_CALLS
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.schedule.alternate_directions import loops_in_twos, product_tasks


@record
class ChooseDirectionsPass(ModulePass):
    """Writes `alternate` of products whose weights a loop reads beyond `target`'s nearer caches."""

    name = "choose-directions"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        near = target.l2_bytes // LEAST_SHARE
        far = target.l2_bytes * target.cores * MOST_CACHES
        kernels = {k.sym_name.data: k for k in kernel_functions(op)}
        for loop, steps in loops_in_twos(op):
            calls = [c for c in block_ops(loop.body.block) if isinstance(c, func.CallOp)]
            if steps.count < LEAST_STEPS or len(calls) > MOST_CALLS:
                continue
            called = [(call, kernels.get(call.callee.string_value())) for call in calls]
            read = [(k, _fixed_panels(call, k)) for call, k in called if k is not None]
            if near < sum(size for _, size in read) <= far:
                for kernel, size in read:
                    if size and product_tasks(kernel)[0].alternate is None:
                        (tasks,) = product_tasks(kernel)
                        chosen = ProductTasksAttr(replace(tasks, alternate=True))
                        kernel.attributes[SCHEDULE] = ArrayAttr([chosen])


def _fixed_panels(call: func.CallOp, kernel: func.FuncOp) -> int:
    """Bytes of the panels that a call in a loop reads in each step again, if it calls a kernel of
    one product whose rows are a single tile: others multiply more than they read."""
    parts = kernel.attributes.get(SCHEDULE)
    if not isinstance(parts, ArrayAttr) or len(parts) != 1 or not product_tasks(kernel):
        return 0
    nests = [op for op in block_ops(kernel.body.block) if isinstance(op, GenericOp)]
    shapes = [shape for nest in nests if (shape := Contraction.of(nest)) is not None]
    schedule = shapes[0].op.attributes.get(SCHEDULE) if len(shapes) == 1 else None
    if not isinstance(schedule, ScheduleAttr):
        return 0
    shape, clauses = shapes[0], schedule.data
    if shape.panel is None or shape.repacked or shape.pairs is not None:
        return 0
    if clauses.terms or clauses.prefetch_panels:
        return 0
    packed = shape.op.inputs[shape.b]
    if not isinstance(packed, BlockArgument) or packed.block is not kernel.body.block:
        return 0
    owner = call.arguments[packed.index].owner
    within = isinstance(owner, Operation) and owner.parent is call.parent
    return 0 if within else value_bytes(packed)
