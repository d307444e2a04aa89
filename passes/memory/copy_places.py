"""Where buffers are made and touched, as far as copies of them may be left out."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.loop import ReshapeOp, RowOp


def is_ready(
    target: SSAValue, root: SSAValue, block: Block, place: int, places: Mapping[Operation, int]
) -> bool:
    """Whether the destination is there where the source is made; its allocation may move up."""
    for value in dict.fromkeys((root, target)):
        owner = value.owner
        if isinstance(owner, Block) or owner.parent is not block or places[owner] < place:
            continue
        if not isinstance(owner, memref.AllocOp):
            return False
        first = block.first_op
        assert first is not None
        owner.detach()
        block.insert_op_before(owner, first)
    return True


def root_of(value: SSAValue) -> SSAValue:
    """The whole buffer that a view is of."""
    while isinstance(value.owner, ReshapeOp | RowOp):
        value = value.owner.source
    return value


def above(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that `op` is, or stands in; None if it is elsewhere."""
    while op.parent is not block:
        above = op.parent_op()
        if above is None:
            return None
        op = above
    return op


def within_block(op: Operation, block: Block) -> Operation:
    """The op of `block` that `op` is, or stands in, where there is one."""
    found = above(op, block)
    assert found is not None, "a buffer is used outside of the block that makes it"
    return found
