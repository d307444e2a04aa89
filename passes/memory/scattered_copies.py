"""Scatters in place: what is copied to be scattered into is made where the result is.

A scatter copies what it scatters into, and writes points of the copy. Where a buffer is made for
that alone, as zeros for a gradient are, its maker writes to the memory of the result at once, and
the kernel of the scatter has one argument for both: `into(%r : ... -> %r : ...)` copies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func, memref
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.loop import ScatterOp
from lamina.dialects.records import record
from lamina.passes.memory.copy_places import above, is_ready, root_of
from lamina.passes.memory.plan_memory import users_through_views


@record
class Scatter:
    """The arguments of a kernel that is one scatter which are its source and its result."""

    source: int
    result: int


def elide_scattered_copies(
    kernels: Mapping[str, func.FuncOp], entries: Sequence[func.FuncOp]
) -> None:
    """Have scatters write over what they scatter into, where all calls of their kernel allow it."""
    for name, kernel in kernels.items():
        scatter = scatter_of(kernel)
        if scatter is None:
            continue
        calls = [
            op
            for entry in entries
            for op in entry.walk()
            if isinstance(op, func.CallOp) and op.callee.root_reference.data == name
        ]
        if not calls or not all(_may_write_over(call, scatter) for call in calls):
            continue
        for call in calls:
            source, result = call.arguments[scatter.source], call.arguments[scatter.result]
            allocation = source.owner
            assert isinstance(allocation, memref.AllocOp)
            source.replace_all_uses_with(result)
            Rewriter.erase_op(allocation)
            call.operands = list(call.operands)[:-1]
        drop_result(kernel, scatter)


def drop_result(kernel: func.FuncOp, scatter: Scatter) -> None:
    """Have a kernel write over what it scatters into, without an argument for its result."""
    block = kernel.body.block
    block.args[scatter.result].replace_all_uses_with(block.args[scatter.source])
    block.erase_arg(block.args[scatter.result])
    kernel.update_function_type()


def scatter_of(kernel: func.FuncOp) -> Scatter | None:
    """The scatter of a kernel that is no other op, and whose last argument is the result: those in
    front of it keep their numbers, which notes name."""
    block = kernel.body.block
    op, last = block.first_op, block.args[-1]
    if not isinstance(op, ScatterOp) or len(block.ops) != 2 or op.into is op.outs[0]:
        return None
    source = op.into
    if op.outs[0] is not last or source.type != last.type:
        return None
    if not isinstance(source, BlockArgument) or any(len(list(v.uses)) != 1 for v in (source, last)):
        return None
    return Scatter(source.index, last.index)


def _may_write_over(call: func.CallOp, scatter: Scatter) -> bool:
    """Whether a call is the last to touch a buffer that may be made where its result is."""
    source, result = call.arguments[scatter.source], call.arguments[scatter.result]
    allocation, block = source.owner, call.parent
    if not isinstance(allocation, memref.AllocOp) or allocation.parent is not block:
        return False
    assert block is not None
    root = root_of(result)
    places = {op: number for number, op in enumerate(block.ops)}
    own = touches(source, block, places)
    if own is None or len(own) < 2 or max(own) != places[call]:
        return False
    others = touches(root, block, places)
    if others is None or any(min(own) <= place < places[call] for place in others):
        return False
    operands = [root_of(value) for value in call.arguments]
    if operands.count(source) != 1 or operands.count(root) != 1:
        return False
    return is_ready(result, root, block, min(own), places)


def touches(value: SSAValue, block: Block, places: Mapping[Operation, int]) -> list[int] | None:
    """Where in a block a buffer is touched; None if it is elsewhere too."""
    found = [above(user, block) for user in users_through_views(value)]
    if any(op is None for op in found):
        return None
    return sorted(places[op] for op in found if op is not None)
