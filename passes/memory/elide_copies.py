"""`elide-copies`: what is made to be copied is made where it is copied to.

A loop's body makes the next carried values elsewhere, as it may still read the old ones, and copies
them. Where nothing reads the old value after the kernel that makes the new one, and that kernel
reads just the elements it writes (see `in_place`), it may write over the old value at once. The
same goes for a value that is copied to where a loop starts from.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.loop import ReshapeOp, RowOp
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.in_place import in_place_pairs
from lamina.passes.memory.plan_memory import users_through_views

Pairs = dict[str, list[tuple[int, int]]]


@dataclass(frozen=True)
class ElideCopiesPass(ModulePass):
    """Remove copies whose source may be made at their destination."""

    name = "elide-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes]
        copies = [c for f in entries for c in f.walk() if isinstance(c, memref.CopyOp)]
        if not copies:
            return
        pairs = {
            f.sym_name.data: in_place_pairs(f)
            for f in functions
            if KERNEL in f.attributes and f.body.blocks
        }
        for copy in copies:
            _elide(copy, pairs)


def _elide(copy: memref.CopyOp, pairs: Pairs) -> None:
    source, target = copy.source, copy.destination
    allocation, block = source.owner, copy.parent
    if not isinstance(allocation, memref.AllocOp) or allocation.parent is not block:
        return
    assert block is not None
    places = {op: number for number, op in enumerate(block.ops)}
    end = places[copy]
    made = sorted({places[_within(user, block)] for user in users_through_views(source)} - {end})
    if not made or made[-1] > end:
        return
    ops = list(block.ops)
    writer = ops[made[0]]
    root = _root(target)
    if not _is_ready(target, root, block, made[0], places):
        return
    touched = {
        places[within]
        for user in users_through_views(root)
        if (within := _above(user, block)) is not None and within is not copy
    }
    if any(made[0] < place < end for place in touched):
        return
    if made[0] in touched and not _writes_over(writer, root, source, pairs):
        return
    source.replace_all_uses_with(target)
    block.erase_op(copy)
    block.erase_op(allocation)


def _is_ready(
    target: SSAValue, root: SSAValue, block: Block, place: int, places: dict[Operation, int]
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


def _writes_over(writer: Operation, old: SSAValue, new: SSAValue, pairs: Pairs) -> bool:
    """Whether a call reads `old` only at the elements of `new` that it writes."""
    if not isinstance(writer, func.CallOp):
        return False
    arguments = list(writer.arguments)
    roots = [_root(value) for value in arguments]
    if roots.count(old) != 1 or arguments.count(new) != 1:
        return False
    pair = (roots.index(old), arguments.index(new))
    return pair in pairs.get(writer.callee.root_reference.data, ())


def _root(value: SSAValue) -> SSAValue:
    """The whole buffer that a view is of."""
    while isinstance(value.owner, ReshapeOp | RowOp):
        value = value.owner.source
    return value


def _above(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that `op` is, or stands in; None if it is elsewhere."""
    while op.parent is not block:
        above = op.parent_op()
        if above is None:
            return None
        op = above
    return op


def _within(op: Operation, block: Block) -> Operation:
    found = _above(op, block)
    assert found is not None, "a buffer is used outside of the block that makes it"
    return found
