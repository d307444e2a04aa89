"""`alternate-directions`: every second step of a loop walks its weights backwards.

A product of a few rows reads all of its weight, and so does the next step of a recurrent layer. If
the weight is larger than a thread's caches, what they hold of it when a step ends is the end of the
thread's share, and by the time the next step comes there it has made room for the beginning: each
step reads everything from further out. So a loop that calls kernels with the clause `alternate`
takes two steps at a time, of which the second one calls copies of them with the clause `backward`,
which begin with what was read last. `choose-directions` writes the clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

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
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.schedules import SCHEDULE, ProductTasks, ProductTasksAttr
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.illegal import illegal


class AlternateDirectionsPass(ModulePass):
    """Carries out `alternate` of kernels, and takes it away.

    Raises InputError for a kernel whose calling loops do not let their steps be taken in twos.
    """

    name = "alternate-directions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {k.sym_name.data: k for k in kernel_functions(op) if _alternates(k)}
        if not kernels:
            return
        turned: dict[str, str] = {}
        for loop, steps in loops_in_twos(op):
            names = {c.callee.string_value() for c in loop.body.block.ops if type(c) is func.CallOp}
            for name in names & kernels.keys() - turned.keys():
                turned[name] = _turn(kernels[name])
            if names & kernels.keys():
                _take_two(loop, steps, turned)
        for name, kernel in kernels.items():
            if name not in turned:
                raise illegal(kernel, f"alternate: of kernels that are called in {LOOPS_IN_TWOS}")
            _set_tasks(kernel, {"alternate": None})


class Steps(NamedTuple):
    """The steps of a loop: `count` of them, from `lower` on, each so far behind the other."""

    lower: int
    step: int
    count: int


LOOPS_IN_TWOS = "a loop of an entry, of two or more steps, without branches and loops within"
"""What messages call the loops below."""


def loops_in_twos(module: ModuleOp) -> Iterator[tuple[scf.ForOp, Steps]]:
    """Loops of entries whose steps can be taken in twos; those found may be replaced meanwhile."""
    functions = [op for op in block_ops(module.body.block) if isinstance(op, func.FuncOp)]
    for entry in functions:
        if ENTRY in entry.attributes:
            for loop in block_ops(entry.body.block):
                if isinstance(loop, scf.ForOp) and (steps := _steps(loop)) is not None:
                    yield loop, steps


def _steps(loop: scf.ForOp) -> Steps | None:
    """Those of a loop that carries nothing, if their number is known."""
    lower, upper, step = (constant_integer(value) for value in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None or loop.iter_args:
        return None
    if any(op.regions for op in loop.body.block.ops):
        return None
    count = -((lower - upper) // step)
    return Steps(lower, step, count) if count > 1 else None


def product_tasks(kernel: func.FuncOp) -> list[ProductTasks]:
    """The schedules of a kernel's parts around packed products."""
    parts = kernel.attributes.get(SCHEDULE)
    listed = parts.data if isinstance(parts, ArrayAttr) else ()
    return [part.data for part in listed if isinstance(part, ProductTasksAttr)]


def _alternates(kernel: func.FuncOp) -> bool:
    return any(tasks.alternate for tasks in product_tasks(kernel))


def _set_tasks(kernel: func.FuncOp, clauses: Mapping[str, bool | None]) -> None:
    """Sets clauses of those parts of a kernel that alternate."""
    parts = kernel.attributes[SCHEDULE]
    assert isinstance(parts, ArrayAttr)
    kernel.attributes[SCHEDULE] = ArrayAttr(
        ProductTasksAttr(replace(part.data, **clauses))
        if isinstance(part, ProductTasksAttr) and part.data.alternate
        else part
        for part in parts
    )


def _turn(kernel: func.FuncOp) -> str:
    """A copy of a kernel whose tasks and panels are walked from the last to the first; its name."""
    block = kernel.parent
    assert block is not None
    copy = kernel.clone()
    name = f"{kernel.sym_name.data}_back"
    copy.properties["sym_name"] = StringAttr(name)
    _set_tasks(copy, {"alternate": None, "backward": True})
    block.insert_op_after(copy, kernel)
    return name


def _take_two(loop: scf.ForOp, steps: Steps, turned: Mapping[str, str]) -> None:
    """Has a loop take two of its steps in a round, the second one with the kernels that are turned,
    and the last one behind it if they are odd."""
    parent = loop.parent
    assert parent is not None
    lower, step, count = steps
    ops = [op for op in block_ops(loop.body.block) if not isinstance(op, scf.YieldOp)]
    ends = [_index(lower + 2 * (count // 2) * step), _index(2 * step)]
    block = Block(arg_types=[IndexType()])
    counter = block.args[0]
    counter.name_hint = loop.body.block.args[0].name_hint
    second = arith.AddiOp(counter, loop.step)
    first_ops, second_ops = (_copies(loop, ops, at) for at in (counter, second.result))
    for call in second_ops:
        if isinstance(call, func.CallOp) and (name := call.callee.string_value()) in turned:
            call.properties["callee"] = SymbolRefAttr(turned[name])
    block.add_ops([*first_ops, second, *second_ops, scf.YieldOp()])
    pairs = scf.ForOp(loop.lb, ends[0].result, ends[1].result, [], block)
    pairs.attributes.update(loop.attributes)
    parent.insert_ops_before([*ends, pairs], loop)
    if count % 2:
        parent.insert_ops_before(_copies(loop, ops, ends[0].result), loop)
    parent.erase_op(loop)


def _index(number: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(number, IndexType()))


def _copies(loop: scf.ForOp, ops: Sequence[Operation], at: SSAValue) -> list[Operation]:
    """The ops of a step, at a position of the loop."""
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: at}
    return [op.clone(values) for op in ops]
