"""`elide-copies`: what is made to be copied is made where it is copied to.

A loop's body makes the next carried values elsewhere, as it may still read the old ones, and copies
them. Where nothing reads the old value after the kernel that makes the new one, and that kernel
reads just the elements it writes (see `in_place`), it may write over the old value at once. The
same goes for a value that is copied to where a loop starts from, and for what a scatter copies.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.op_list import ops_of
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.copy_places import above, is_ready, root_of, within_block
from lamina.passes.memory.in_place import in_place_pairs
from lamina.passes.memory.plan_memory import users_through_views
from lamina.passes.memory.scattered_copies import elide_scattered_copies

Pairs = dict[str, list[tuple[int, int]]]


class ElideCopiesPass(ModulePass):
    """Remove copies whose source may be made at their destination."""

    name = "elide-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes]
        kernels = {
            f.sym_name.data: f for f in functions if KERNEL in f.attributes and f.body.blocks
        }
        elide_scattered_copies(kernels, entries)
        copies = [copy for entry in entries for copy in ops_of(entry, memref.CopyOp)]
        if not copies:
            return
        pairs = {name: in_place_pairs(kernel) for name, kernel in kernels.items()}
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
    made = sorted(
        {places[within_block(user, block)] for user in users_through_views(source)} - {end}
    )
    if not made or made[-1] > end:
        return
    ops = block_ops(block)
    writer = ops[made[0]]
    root = root_of(target)
    if not is_ready(target, root, block, made[0], places):
        return
    touched = {
        places[within]
        for user in users_through_views(root)
        if (within := above(user, block)) is not None and within is not copy
    }
    if any(made[0] < place < end for place in touched):
        return
    if made[0] in touched and not _writes_over(writer, root, source, pairs):
        return
    source.replace_all_uses_with(target)
    block.erase_op(copy)
    block.erase_op(allocation)


def _writes_over(writer: Operation, old: SSAValue, new: SSAValue, pairs: Pairs) -> bool:
    """Whether a call reads `old` only at the elements of `new` that it writes."""
    if not isinstance(writer, func.CallOp):
        return False
    arguments = list(writer.arguments)
    roots = [root_of(value) for value in arguments]
    if roots.count(old) != 1 or arguments.count(new) != 1:
        return False
    pair = (roots.index(old), arguments.index(new))
    return pair in pairs.get(writer.callee.root_reference.data, ())
