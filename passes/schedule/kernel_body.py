"""The block of a kernel whose nests become loops: its ops are taken out, kept or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.memory_ops import store_op
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.op_disposal import erase
from lamina.dialects.op_list import instances_under
from lamina.passes.schedule.call_extents import CallExtents
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.guarded_reads import kernel_masks
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_rows import count_of, ends_of, expand_live_ops, joined_live_rows
from lamina.passes.schedule.loop_ends import kernel_numbers
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.stages import is_temporary, schedule_of


class KernelBody:
    """Takes a kernel's block apart; `ops` are what stood in it, in order, without its end.

    `emit` appends to the block, in which the kernel's arguments are flat memory by now.
    """

    def __init__(self, function: func.FuncOp) -> None:
        self.function, block = function, function.body.block
        nests = instances_under(function, GenericOp)
        self.memory = Memory()
        held = {op.operands[0]: op for op in block_ops(block) if isinstance(op, ReshapeOp)}
        ops = block_ops(block)
        for op in ops:
            op.detach()
        self.ops = [op for op in ops[:-1] if op not in held.values()]
        self._end = ops[-1]
        self.emit = Emitter(block)
        for argument in block.args:
            kind = argument.type
            assert isinstance(kind, MemRefType)
            made = held.get(argument) or ReshapeOp(argument, _flat(kind))
            self.memory.flat[argument] = self.emit.add(made)
        known = CallExtents(self.emit, block.args, self.memory.flat)
        self.memory.strides, self.memory.edges = known.strides(), known.edges()
        self.memory.masks = kernel_masks(function)
        self.memory.numbers = kernel_numbers(self.emit, function, nests, self.memory.flat)
        self._note_streamed(nests)
        for nest in nests:
            if 0 in nest.extents:
                fill_with_identity(self.emit, nest, self.memory)
        self._first = block.first_op

    def _note_streamed(self, nests: Sequence[GenericOp]) -> None:
        """Note the buffers that nests store past the caches, in these calls at least."""
        for nest in nests:
            schedule = schedule_of(nest)
            if schedule.nontemporal is None and schedule.nontemporal_from is not None:
                raise illegal(nest, "nontemporal_from: no result is nontemporal")
            for number in schedule.nontemporal or ():
                if is_temporary(nest.outs[number]):
                    leave = [n for n, out in enumerate(nest.outs) if not is_temporary(out)]
                    legal = f"those that leave it: {leave or 'none'}"
                    raise illegal(
                        nest, f"nontemporal: result {number} stays in the kernel; {legal}"
                    )
                self._stream(nest, number, schedule.nontemporal_from or 0)

    def _stream(self, nest: GenericOp, number: int, fewest: int) -> None:
        """Note that a result is stored past the caches if so many rows of its nest count."""
        rows = rows_of(nest)
        live = joined_live_rows(nest, rows)
        if fewest > prod(nest.extents[d] for d in rows):
            return
        wanted = None
        if live is not None and fewest > 1:
            flat = {n: self.memory.flat[self.function.body.block.args[n]] for n in live.counts}
            count = self.emit.value(count_of(self.emit, ends_of(self.emit, live.digits, flat)))
            least = self.emit.value(fewest)
            wanted = self.emit.add(compare_op(count, least, "uge"))
        self.memory.streamed[nest.outs[number]] = wanted

    def keep(self, op: Operation) -> None:
        """Put an op back; constants stand at the top."""
        if isinstance(op, arith.ConstantOp) and self._first is not None:
            self.emit.block.insert_op_before(op, self._first)
            self.emit.note(op)
        else:
            self.emit.again(op)

    def finish(self, done: Sequence[Operation]) -> None:
        """Put the end back, and erase what is not needed any more, the last one first."""
        self.emit.run(self._end)
        for op in reversed(done):
            erase(op)
        expand_live_ops(self.function, self.memory.flat)


def fill_with_identity(emit: Emitter, nest: GenericOp, memory: Memory) -> None:
    """What a reduction over an empty domain gives: its combiner's identity everywhere."""
    for results, combiner, monoid in nest.reductions:
        for place, number in enumerate(results):
            out = nest.outs[number]
            kind = out.type
            assert isinstance(kind, MemRefType)
            if is_temporary(out):
                continue
            if monoid is not None:
                identity = monoid.identities[place]
            else:
                identity = identity_value(combiner, kind.element_type)
            value = emit.constant(identity)
            fill(emit, value, memory.flat[out], prod(kind.get_shape()))


def fill(emit: Emitter, value: SSAValue, flat: SSAValue, count: int) -> None:
    """Write one scalar to every element of a rank-1 memref."""

    def one(inner: Emitter, at: Index) -> None:
        inner.run(store_op(value, flat, [inner.value(at)]))

    emit.each(0, count, 1, one)


@lru_cache(maxsize=1024)
def _flat(kind: MemRefType) -> MemRefType:
    """The type of the same memory as one row."""
    return MemRefType(kind.element_type, [prod(kind.get_shape())])
