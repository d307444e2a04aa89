"""The links of xDSL's IR, followed and changed where passes do little else.

xDSL's methods go through views and check what holds anyway where an op has just been made: a walk
over a block takes four calls an op, `list(block.ops)` twice that, a value that takes over a use
some twenty calls. What these functions do is the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, SSAValues

# pyright: reportPrivateUsage=false


def block_ops(block: Block) -> list[Operation]:
    """The ops of a block, as `list(block.ops)`."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def append_op(block: Block, op: Operation) -> None:
    """`block.add_op(op)`, for an op that stands nowhere and does not hold the block."""
    if op.parent is not None:
        raise ValueError(f"{op.name} stands in a block already")
    op.parent, last = block, block._last_op
    if last is None:
        block._first_op = op
    else:
        last._next_op, op._prev_op = op, last
    block._last_op = op


def insert_op(op: Operation, before: Operation) -> None:
    """`block.insert_op_before(op, before)`, for an op that stands nowhere and does not hold the
    block of `before`."""
    if op.parent is not None or before.parent is None:
        raise ValueError(f"{op.name} stands in a block already, or {before.name} in none")
    op.parent, ahead = before.parent, before._prev_op
    op._prev_op, op._next_op, before._prev_op = ahead, before, op
    if ahead is None:
        before.parent._first_op = op
    else:
        ahead._next_op = op


def erase_arguments(block: Block, unused: Collection[BlockArgument]) -> None:
    """`block.erase_arg` for several at once, which nothing uses: each of those is a walk over all
    that stand behind."""
    gone = set(unused)
    block._args = tuple(argument for argument in block._args if argument not in gone)
    for index, argument in enumerate(block._args):
        argument.index = index
    for argument in unused:
        argument.erase()


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """`old.replace_all_uses_with(new)`."""
    if new is old:
        return
    use, uses = old.first_use, []
    while use is not None:
        uses.append(use)
        use = use._next_use
    for use in uses:
        op, place = use._operation, use._index
        operands = list(op._operands)
        operands[place] = new
        op._operands = SSAValues(operands)
        new.add_use(use)
    old.first_use = None
    take_name(new, old)


def set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """`op.operands = operands`, which leaves what stays in its place."""
    before = op._operands
    if len(before) != len(operands):
        op.operands = operands
        return
    for old, new, use in zip(before, operands, op._operand_uses, strict=True):
        if old is not new:
            old.remove_use(use)
            new.add_use(use)
    op._operands = SSAValues(operands)


def take_name(new: SSAValue, old: SSAValue) -> None:
    """`new.name_hint = old.name_hint`, for a value without a name."""
    if old._name is not None and new._name is None:
        new._name = _carried(old._name)


_carried = lru_cache(maxsize=4096)(SSAValue.extract_valid_name)


def erase_op(op: Operation) -> None:
    """`Rewriter.erase_op(op)`: the op stands nowhere and uses nothing any more.

    Raises ValueError if one of its results has a use.
    """
    detach_unused(op)
    op.drop_all_references()


def detach_unused(op: Operation) -> None:
    """Takes an op out of its block, if it is in one.

    Raises ValueError if one of its results has a use.
    """
    for result in op.results:
        if result.first_use is not None:
            raise ValueError(f"a result of '{op.name}' that is erased has uses")
    if op.parent is not None:
        op.parent.detach_op(op)
