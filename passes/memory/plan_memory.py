"""`plan-memory`: the buffers of an entry function get places in one arena by their lifetimes.

Where a kernel is the last to read a buffer and may write its result over it (see `in_place`), both
are one buffer.

Offsets are found greedily, largest buffer first, at the lowest place that no buffer alive at the
same time takes (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference").
The arena becomes the last argument, of kind `arena`; its size is the peak of temporary memory.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i8,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import ReshapeOp, RowOp, before_reshapes
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.op_disposal import replace
from lamina.dialects.records import mutable_record, record
from lamina.dialects.type_shapes import shape_of_type
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.in_place import in_place_pairs
from lamina.passes.refusal import unsupported

InPlacePairs = dict[str, list[tuple[int, int]]]


ARENA = StringAttr("arena")
"""Kind of the argument that holds all buffers."""


@mutable_record
class Buffer:
    """One place: its bytes, and the first and last position of an op that touches it.

    It holds one allocation, or several that take turns.
    """

    allocations: list[memref.AllocOp]
    size: int
    first: int
    last: int
    offset: int = 0

    def overlaps(self, other: Buffer) -> bool:
        """Whether both buffers are alive at some position."""
        return self.first <= other.last and other.first <= self.last


LOOPS = (scf.ForOp, scf.WhileOp)


@record
class Order:
    """The position of each op, in regions as well, and the last position inside of each loop."""

    positions: dict[Operation, int]
    ends: dict[Operation, int]

    @classmethod
    def of(cls, block: Block) -> Order:
        """The order of a block's ops, each before those in its regions."""
        order = cls({}, {})
        order._number(block)
        return order

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self.positions[op] = len(self.positions)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            if type(op) in LOOPS:
                self.ends[op] = len(self.positions) - 1

    def span(self, user: Operation, allocation: Operation) -> tuple[int, int]:
        """From where to where a use needs a buffer: all of a loop that the buffer outlives."""
        first = last = self.positions[user]
        outer = user.parent_op()
        while outer is not None and outer is not allocation.parent_op():
            if outer in self.ends:
                first, last = self.positions[outer], self.ends[outer]
            outer = outer.parent_op()
        return first, last


class PlanMemoryPass(ModulePass):
    """Replace the allocations of entry functions by views of one arena."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        pairs = {
            function.sym_name.data: in_place_pairs(function)
            for function in functions
            if KERNEL in function.attributes and function.body.blocks
        }
        for function in functions:
            if ENTRY in function.attributes:
                _plan(function, pairs)


def byte_size(kind: MemRefType) -> int:
    """Bytes of a memref; booleans take one byte each."""
    bits = getattr(kind.element_type, "bitwidth", None)
    if bits is None:
        bits = 2 * kind.element_type.element_type.bitwidth  # pyright: ignore - complex
    return prod(shape_of_type(kind)) * max(1, bits // 8)


def _plan(function: func.FuncOp, pairs: InPlacePairs) -> None:
    block = function.body.block
    if _has_arena(function):
        if any(isinstance(op, memref.AllocOp) for op in block.walk()):
            raise unsupported(function, "has an arena, and allocations beside it", "either")
        return
    order = Order.of(block)
    buffers = _share(order, _lifetimes(order), pairs)
    size = assign_offsets(buffers)
    arena = block.insert_arg(MemRefType(i8, [size]), len(block.args))
    arena.name_hint = "arena"
    for buffer in buffers:
        for allocation in buffer.allocations:
            offset = constant_op(IntegerAttr(buffer.offset, IndexType()))
            view = memref.ViewOp.create(
                operands=[arena, offset.result], result_types=[allocation.memref.type]
            )
            home = allocation.parent
            assert home is not None
            home.insert_op_before(offset, allocation)
            replace(allocation, view)
    given = [DictionaryAttr({})] * (len(block.args) - 1)
    attributes = list(function.arg_attrs.data) if function.arg_attrs else given
    attributes.append(DictionaryAttr({"lamina.kind": ARENA}))
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    function.update_function_type()


def _has_arena(function: func.FuncOp) -> bool:
    """Whether memory has been planned before."""
    attributes = function.arg_attrs.data if function.arg_attrs else ()
    return any(entry.data.get("lamina.kind") == ARENA for entry in attributes)


def _lifetimes(order: Order) -> list[Buffer]:
    buffers: list[Buffer] = []
    for op in order.positions:
        if isinstance(op, memref.AllocOp):
            touched = [p for user in users_through_views(op.memref) for p in order.span(user, op)]
            kind = op.memref.type
            assert isinstance(kind, MemRefType)
            size = -(-byte_size(kind) // ALIGNMENT) * ALIGNMENT
            first = min(touched, default=order.positions[op])
            buffers.append(Buffer([op], size, first, max(touched, default=first)))
    return buffers


def _share(order: Order, buffers: list[Buffer], pairs: InPlacePairs) -> list[Buffer]:
    """Join the buffers that a call reads for the last time and may write its result over."""
    if not any(pairs.values()):
        return buffers
    homes: dict[SSAValue, Buffer] = {b.allocations[0].memref: b for b in buffers}
    for op, position in order.positions.items():
        if not isinstance(op, func.CallOp):
            continue
        roots = [before_reshapes(operand) for operand in op.arguments]
        for source, target in pairs.get(op.callee.root_reference.data, ()):
            old, new = homes.get(roots[source]), homes.get(roots[target])
            if old is None or new is None or old is new or old.size != new.size:
                continue
            if old.last != position or new.first != position:
                continue
            if roots.count(roots[source]) > 1 or roots.count(roots[target]) > 1:
                continue
            old.allocations += new.allocations
            old.last = new.last
            homes |= {allocation.memref: old for allocation in new.allocations}
    return list({id(buffer): buffer for buffer in homes.values()}.values())


def users_through_views(value: SSAValue) -> list[Operation]:
    """What reads or writes a buffer, through views as well."""
    users: list[Operation] = []
    for use in value.uses:
        if isinstance(use.operation, ReshapeOp | RowOp):
            users += users_through_views(use.operation.result)
        else:
            users.append(use.operation)
    return users


def assign_offsets(buffers: list[Buffer]) -> int:
    """Give every buffer an offset in bytes; returns the size of the arena."""
    placed: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda b: (-b.size, b.first)):
        taken = sorted(
            ((p.offset, p.offset + p.size) for p in placed if p.overlaps(buffer)),
        )
        offset = 0
        for start, end in taken:
            if offset + buffer.size <= start:
                break
            offset = max(offset, end)
        buffer.offset = offset
        placed.append(buffer)
    return max((b.offset + b.size for b in buffers), default=0)
