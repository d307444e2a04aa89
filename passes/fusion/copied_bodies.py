"""How much of a body is copies of others, and when that is enough.

A producer with several readers, or read at several places, is copied into each of them. If its body
holds copies itself, a chain of such nests doubles at every step: sooner or later no time saved in
memory is worth the code. Moving a body into its only reader copies nothing, and has no bound.
"""

from __future__ import annotations

from dataclasses import field

from xdsl.ir import Block, SSAValue

from lamina.dialects.ir_links import replace_uses
from lamina.dialects.loop import GenericOp
from lamina.dialects.records import mutable_record
from lamina.passes.cost.fusion_limits import MAX_COPIED_OPS
from lamina.passes.fusion.fusion_decisions import Decision
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.canonicalize_loop import drop_unused_operands
from lamina.passes.loop.loop_rewriting import erase_if_dead
from lamina.passes.loop.position_choices import settle_choices


@mutable_record
class CopiedBodies:
    """For the bodies of a function: the ops that are copies, and their size when last simplified.

    Sizes are those of simplified bodies: copies at the same place become one.
    """

    copies: dict[Block, int] = field(default_factory=dict)
    sizes: dict[Block, int] = field(default_factory=dict)
    changed: set[Block] = field(default_factory=set)

    def bound(
        self, said: Decision, producer: GenericOp, op: GenericOp, value: SSAValue
    ) -> Decision:
        """The decision, or a refusal if the body of `op` would hold too many copies."""
        if not said.fuse or value.has_one_use():
            return said
        return bounded(said, self.copies.get(op.block, 0) + size_of(producer))

    def count(self, producer: GenericOp, op: GenericOp, value: SSAValue) -> int:
        """The copies in the body of `op` with that of `producer` in it, asked before it is."""
        moved = self.copies.get(producer.block, 0)
        return self.copies.get(op.block, 0) + (moved if value.has_one_use() else size_of(producer))

    def took(self, op: GenericOp, producer: Block, reader: Block, copies: int) -> None:
        """The body of `op` is now that of `reader` with `producer` in it."""
        size = self.sizes.pop(reader, 0)
        is_changed = reader in self.changed or op.block is not producer
        for table in (self.changed, self.copies):
            table.discard(reader) if isinstance(table, set) else table.pop(reader, None)
        if op.block is not producer:
            self.sizes[op.block] = size
        if copies:
            self.copies[op.block] = copies
        if is_changed:
            self.changed.add(op.block)

    def is_due(self, op: GenericOp) -> bool:
        """Whether to simplify the body before it takes more: small, much grown or nearly full."""
        if op.block not in self.changed:
            return False
        if self.copies.get(op.block, 0) > MAX_COPIED_OPS // 2:
            return True
        size = len(op.block.ops)
        return size <= MAX_COPIED_OPS or 2 * size > 3 * self.sizes.get(op.block, 0)

    def tidy(self, op: GenericOp) -> GenericOp:
        """The nest with its body simplified and without reads that it does not need."""
        before = len(op.block.ops)
        settle_choices(op)
        simplify_body(op.block)
        size = len(op.block.ops)
        if op.block in self.copies:
            self.copies[op.block] = max(0, self.copies[op.block] - max(0, before - size))
        self.sizes[op.block] = size
        self.changed.discard(op.block)
        return drop_reads(op)


def bounded(said: Decision, copies: int) -> Decision:
    """The decision, or a refusal if so many ops of a body are too many copies."""
    if not said.fuse or copies <= MAX_COPIED_OPS:
        return said
    reason = f"{copies} ops of the body would be copies, more than {MAX_COPIED_OPS}"
    return Decision(False, reason, said.estimate)


def size_of(nest: GenericOp) -> int:
    """Ops of the body without its end."""
    return len(nest.block.ops) - 1


def drop_reads(op: GenericOp) -> GenericOp:
    """`drop_unused_operands`, and the nests that nobody reads then."""
    values = list(op.operands)
    op = drop_unused_operands(op)
    waiting = [v.owner for v in values if v not in op.operands]
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, Block) or owner.parent is None:
            continue
        operands = list(owner.operands)
        if erase_if_dead(owner):
            waiting += [v.owner for v in operands]
    return op


def share_reads(op: GenericOp) -> GenericOp:
    """The nest with each read once."""
    reads = op.reads
    first = {read: number for number, read in reversed(list(enumerate(reads)))}
    if len(first) == len(reads):
        return op
    for number, read in enumerate(reads):
        if first[read] != number:
            replace_uses(op.block.args[number], op.block.args[first[read]])
    return drop_reads(op)
