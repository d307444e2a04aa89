"""`alternate-directions`: every second step of a loop walks its weights backwards.

A product of a few rows reads all of its weight, and so does the next step of a recurrent layer. If
the weight is larger than a thread's caches, what they hold of it when a step ends is the end of the
thread's share, and by the time the next step comes there it has made room for the beginning: each
step reads everything from further out. So a loop of such steps takes two at a time, of which the
second one calls a kernel with the clause `backward`, which begins with what was read last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.schedules import SCHEDULE, ProductTasksAttr, ScheduleAttr
from lamina.passes.cost.alternating import LEAST_SHARE, LEAST_STEPS, MOST_CACHES, MOST_CALLS
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.memory.bufferize import ENTRY


@dataclass(frozen=True)
class AlternateDirectionsPass(ModulePass):
    """Takes two steps at a time of loops that read weights beyond `target`'s nearer caches."""

    name = "alternate-directions"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = {
            f.sym_name.data: f for f in functions if KERNEL in f.attributes and f.body.blocks
        }
        target, turned = Target.parse(self.target), {}
        for entry in functions:
            if ENTRY in entry.attributes:
                for loop in block_ops(entry.body.block):
                    if isinstance(loop, scf.ForOp):
                        _alternate(loop, kernels, turned, target)


def _alternate(
    loop: scf.ForOp, kernels: dict[str, func.FuncOp], turned: dict[str, str], target: Target
) -> None:
    ops = [op for op in block_ops(loop.body.block) if not isinstance(op, scf.YieldOp)]
    calls = [op for op in ops if isinstance(op, func.CallOp)]
    if loop.iter_args or len(calls) > MOST_CALLS or any(op.regions for op in ops):
        return
    bounds = [constant_integer(value) for value in (loop.lb, loop.ub, loop.step)]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None:
        return
    count = -((lower - upper) // step)
    read = sum(_fixed_panels(call, kernels) for call in calls)
    near, far = target.l2_bytes // LEAST_SHARE, target.l2_bytes * target.cores * MOST_CACHES
    if count < LEAST_STEPS or not near < read <= far:
        return
    for call in _take_two(loop, ops, (lower, step, count)):
        if isinstance(call, func.CallOp) and _fixed_panels(call, kernels):
            name = call.callee.root_reference.data
            if name not in turned:
                turned[name] = _turn(kernels[name])
            call.properties["callee"] = SymbolRefAttr(turned[name])


def _fixed_panels(call: func.CallOp, kernels: dict[str, func.FuncOp]) -> int:
    """Bytes of the panels that a call in a loop reads in each step again, if it calls a kernel of
    one product whose rows are a single tile: others multiply more than they read."""
    kernel = kernels.get(call.callee.root_reference.data)
    parts = None if kernel is None else kernel.attributes.get(SCHEDULE)
    if kernel is None or not isinstance(parts, ArrayAttr) or len(parts) != 1:
        return 0
    if not isinstance(parts.data[0], ProductTasksAttr):
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


def _take_two(
    loop: scf.ForOp, ops: Sequence[Operation], rounds: tuple[int, int, int]
) -> list[Operation]:
    """Has a loop from `lower` on in steps of `step` take two of its `count` steps in a round, and
    the last one behind it if they are odd. Gives the ops of the second step."""
    lower, step, count = rounds
    parent = loop.parent
    assert parent is not None
    ends = [_index(lower + 2 * (count // 2) * step), _index(2 * step)]
    block = Block(arg_types=[IndexType()])
    counter = block.args[0]
    counter.name_hint = loop.body.block.args[0].name_hint
    second = arith.AddiOp(counter, loop.step)
    first_ops, second_ops = (_copies(loop, ops, at) for at in (counter, second.result))
    block.add_ops([*first_ops, second, *second_ops, scf.YieldOp()])
    pairs = scf.ForOp(loop.lb, ends[0].result, ends[1].result, [], block)
    pairs.attributes.update(loop.attributes)
    parent.insert_ops_before([*ends, pairs], loop)
    if count % 2:
        parent.insert_ops_before(_copies(loop, ops, ends[0].result), loop)
    parent.erase_op(loop)
    return second_ops


def _index(number: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(number, IndexType()))


def _copies(loop: scf.ForOp, ops: Sequence[Operation], at: SSAValue) -> list[Operation]:
    """The ops of a step, at a position of the loop."""
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: at}
    return [op.clone(values) for op in ops]


def _turn(kernel: func.FuncOp) -> str:
    """A copy of a kernel whose tasks and panels are walked from the last to the first; its name."""
    block = kernel.parent
    assert block is not None
    copy = kernel.clone()
    name = f"{kernel.sym_name.data}_back"
    copy.properties["sym_name"] = StringAttr(name)
    parts = kernel.attributes[SCHEDULE]
    assert isinstance(parts, ArrayAttr)
    (tasks,) = parts.data
    assert isinstance(tasks, ProductTasksAttr)
    copy.attributes[SCHEDULE] = ArrayAttr([ProductTasksAttr(replace(tasks.data, backward=True))])
    block.insert_op_after(copy, kernel)
    return name
