"""Control ops on memory: `scf.if`, `scf.while` and `scf.for` around kernel calls.

What a control op gives has its buffer outside of it. Branches write it there. A loop keeps what it
carries there: its body writes the next values elsewhere, as it may still read the old ones, and
they are copied at the end of each round. A scan reads and writes slices in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import CondOp, RegionOp, ScanOp, WhileOp, YieldOp
from lamina.dialects.loop.poll import PollOp
from lamina.dialects.loop.row import RowOp
from lamina.dialects.records import record

Destinations = Mapping[SSAValue, SSAValue]


@record
class RegionBufferizer:
    """Turns control ops whose operands are memrefs into `scf` ops.

    `allocate` makes a buffer of a tensor type in front of an op. `run` puts the ops of a block in
    memory, given where the values that leave the block go, as (value, destination) pairs. `poll`
    gives the address of what a loop asks whether to go on.
    """

    allocate: Callable[[SSAValue, Operation], SSAValue]
    run: Callable[[Block, Sequence[tuple[SSAValue, SSAValue]]], None]
    poll: Callable[[], SSAValue]

    def replace(self, op: RegionOp, targets: Destinations) -> None:
        """Replace one op; its results with an entry in `targets` go there."""
        match op:
            case CondOp():
                self._cond(op, targets)
            case WhileOp():
                self._while(op, targets)
            case ScanOp():
                self._scan(op, targets)
            case _:
                raise AssertionError(op.name)

    def _buffers(self, op: RegionOp, targets: Destinations) -> list[SSAValue]:
        return [targets.get(r) or self.allocate(r, op) for r in op.results]

    def _cond(self, op: CondOp, targets: Destinations) -> None:
        buffers = self._buffers(op, targets)
        for block in op.blocks:
            _bind(block, op.inputs)
            self.run(block, list(zip(_yielded(block), buffers, strict=True)))
            _end(block, scf.YieldOp())
        predicate = _insert(op, _load(op, op.predicate))
        then, otherwise = (op.detach_region(region) for region in list(op.regions))
        _finish(op, scf.IfOp(predicate, [], then, otherwise), buffers)

    def _while(self, op: WhileOp, targets: Destinations) -> None:
        buffers = self._buffers(op, targets)
        test, body = op.blocks
        _copy_before(op, op.starts, buffers)
        for block in (test, body):
            _bind(block, [*buffers, *op.inputs])
        (verdict,) = _yielded(test)
        flag = self.allocate(verdict, _first(test))
        self.run(test, [(verdict, flag)])
        load = _load(test.last_op, flag)
        test.insert_ops_before(load, test.last_op)  # pyright: ignore - it ends in a yield
        _end(test, scf.ConditionOp(load[-1].results[0]))
        self._advance(body, _yielded(body), buffers, [])
        _before_end(body, PollOp(self.poll()))
        before, after = (op.detach_region(region) for region in list(op.regions))
        _finish(op, scf.WhileOp([], [], before, after), buffers)

    def _scan(self, op: ScanOp, targets: Destinations) -> None:
        buffers = self._buffers(op, targets)
        carried, stacks = buffers[: len(op.starts)], buffers[len(op.starts) :]
        _copy_before(op, op.starts, carried)
        (body,) = op.blocks
        index = body.insert_arg(IndexType(), 0)
        index.name_hint = "step"
        rows = [RowOp(value, index) for value in (*op.sequences, *stacks)]
        body.insert_ops_before(rows, _first(body))
        read, written = rows[: len(op.sequences)], rows[len(op.sequences) :]
        _bind(body, [*carried, *(row.result for row in read), *op.inputs], skip=1)
        values = _yielded(body)
        slices = list(zip(values[len(carried) :], (r.result for r in written), strict=True))
        self._advance(body, values[: len(carried)], carried, slices)
        zero, end, one = (_index(number) for number in (0, op.length, 1))
        for constant in (zero, end, one):
            _insert(op, [constant])
        loop = scf.ForOp(zero.result, end.result, one.result, [], op.detach_region(op.body_region))
        _finish(op, loop, buffers)

    def _advance(
        self,
        body: Block,
        values: Sequence[SSAValue],
        buffers: Sequence[SSAValue],
        others: Sequence[tuple[SSAValue, SSAValue]],
    ) -> None:
        """Put a body in memory that ends by moving the next carried values to their buffers."""
        first = _first(body)
        following = [self.allocate(value, first) for value in values]
        self.run(body, [*zip(values, following, strict=True), *others])
        for source, buffer in zip(following, buffers, strict=True):
            _before_end(body, memref.CopyOp(source, buffer))
        _end(body, scf.YieldOp())


def _yielded(block: Block) -> list[SSAValue]:
    end = block.last_op
    assert isinstance(end, YieldOp)
    return list(end.values)


def _first(block: Block) -> Operation:
    first = block.first_op
    assert first is not None
    return first


def _bind(block: Block, values: Sequence[SSAValue], skip: int = 0) -> None:
    """The block's arguments after the first `skip` become these values."""
    for argument, value in zip(list(block.args)[skip:], values, strict=True):
        argument.replace_all_uses_with(value)
        block.erase_arg(argument)


def _before_end(block: Block, op: Operation) -> None:
    end = block.last_op
    assert end is not None
    block.insert_op_before(op, end)


def _end(block: Block, terminator: Operation) -> None:
    end = block.last_op
    assert end is not None
    Rewriter.replace_op(end, terminator)


def _insert(op: Operation, made: Sequence[Operation]) -> SSAValue:
    """Put ops in front of `op`; the last one's result."""
    block = op.parent
    assert block is not None
    block.insert_ops_before(list(made), op)
    return made[-1].results[0]


def _load(op: Operation | None, buffer: SSAValue) -> list[Operation]:
    """Ops that read the one element of a buffer."""
    kind = buffer.type
    assert isinstance(kind, MemRefType)
    zeros = [_index(0) for _ in kind.get_shape()]
    return [*zeros, memref.LoadOp.get(buffer, [zero.result for zero in zeros])]


def _index(number: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(number, IndexType()))


def _copy_before(op: RegionOp, sources: Sequence[SSAValue], buffers: Sequence[SSAValue]) -> None:
    copies = [memref.CopyOp(s, p) for s, p in zip(sources, buffers, strict=True)]
    if copies:
        block = op.parent
        assert block is not None
        block.insert_ops_before(copies, op)


def _finish(op: RegionOp, made: Operation, buffers: Sequence[SSAValue]) -> None:
    made.location = op.location
    Rewriter.replace_op(op, made, list(buffers))


__all__ = ["RegionBufferizer"]
