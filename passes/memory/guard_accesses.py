"""`guard-accesses`: what scheduled code reads or writes outside of its buffers is an error.

Code that the compiler makes stays inside by construction. Of scheduled code that comes in as text
nobody knows, so that each access whose indices are not known to stay inside gets an assertion, and
reads or writes the beginning of its buffer where this fails: the call ends in an error, the process
goes on. Lanes that a mask has off touch nothing, and may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, cf, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from lamina.dialects.loop import vector_arith
from lamina.dialects.loop.predicates import SGE, SLE, ULT
from lamina.dialects.loop.row import RowOp
from lamina.dialects.loop.scheduled import GatherOp
from lamina.dialects.loop.tiles import TileLoadOp, TileStoreOp
from lamina.dialects.places import place_of
from lamina.passes.memory.index_ranges import IndexRanges, Range
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.refusal import invalid

_Vector = vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp | GatherOp


class GuardAccessesPass(ModulePass):
    """Assert that accesses stay inside of their buffers, where that is not known."""

    name = "guard-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            ranges = IndexRanges()
            for inner in list(function.walk()):
                ranges.note(inner)
                _guard(inner, ranges)


def _guard(op: Operation, ranges: IndexRanges) -> None:
    if isinstance(op, memref.LoadOp):
        _guard_indices(op, ranges, 1, _shape(op.memref))
    elif isinstance(op, memref.StoreOp):
        _guard_indices(op, ranges, 2, _shape(op.memref))
    elif isinstance(op, RowOp):
        _guard_indices(op, ranges, 1, _shape(op.source)[:1])
    elif isinstance(op, memref.ViewOp):
        room = _bytes(op.source) - _bytes(op.results[0])
        _guard_indices(op, ranges, 1, [_places(op, room)])
    elif isinstance(op, TileLoadOp | TileStoreOp):
        _guard_tile(op, ranges)
    elif isinstance(op, _Vector):
        _guard_vector(op, ranges)


def _shape(memory: SSAValue) -> Sequence[int]:
    assert isinstance(memory.type, MemRefType)
    return memory.type.get_shape()


def _bytes(memory: SSAValue) -> int:
    assert isinstance(memory.type, MemRefType)
    return byte_size(memory.type)


def _places(op: Operation, room: int) -> int:
    """How many first places an access has, of which the last is `room`."""
    if room < 0:
        raise invalid(op, f"takes {-room} more than its buffer has")
    return room + 1


def _guard_indices(op: Operation, ranges: IndexRanges, first: int, ends: Sequence[int]) -> None:
    """Guards operands from number `first` on, each of which is to be in `[0, end)`."""
    if not all(ends):
        raise invalid(op, "its buffer has no elements")
    guard = _Assertion(op)
    for number, end in enumerate(ends, first):
        index = op.operands[number]
        if not _is_within(ranges.of(index), end):
            inside = guard.compare(ULT, index, guard.number(end))
            guard.also(inside)
            op.operands[number] = guard.choose(inside, index)
    guard.finish()


def _is_within(found: Range, end: int) -> bool:
    return found[0] >= 0 and found[1] < end


def _guard_tile(op: TileLoadOp | TileStoreOp, ranges: IndexRanges) -> None:
    """Rows of a tile stand `stride` apart; a tile that leaves its buffer has one row again and
    again, at its beginning."""
    tile = op.result.type if isinstance(op, TileLoadOp) else op.tile.type
    assert isinstance(tile, VectorType)
    rows, columns = tile.get_shape()
    end = _places(op, prod(_shape(op.ref)) - columns)
    (low, high), (least, most) = ranges.of(op.at), ranges.of(op.stride)
    if low >= 0 and least >= 0 and high + (rows - 1) * most < end:
        return
    guard = _Assertion(op)
    # No product of the two: it might go round.
    inside = guard.compare(ULT, op.at, guard.number(end))
    rest = guard.index(arith.SubiOp, guard.number(end - 1), op.at)
    longest = guard.index(arith.DivSIOp, rest, guard.number(max(rows - 1, 1)))
    inside = guard.both(inside, guard.compare(SGE, op.stride, guard.number(0)))
    inside = guard.both(inside, guard.compare(SLE, op.stride, longest))
    guard.also(inside)
    first = op.operands.index(op.at)
    op.operands[first] = guard.choose(inside, op.at)
    op.operands[first + 1] = guard.choose(inside, op.operands[first + 1])
    guard.finish()


def _guard_vector(op: _Vector, ranges: IndexRanges) -> None:
    memory = op.ref if isinstance(op, GatherOp) else op.base
    size = prod(_shape(memory))
    kind = op.vector.type if isinstance(op, vector.StoreOp) else None
    if isinstance(op, vector.MaskedStoreOp):
        kind = op.value_to_store.type
    kind = op.results[0].type if kind is None else kind
    assert isinstance(kind, VectorType)
    lanes = prod(kind.get_shape())
    if isinstance(op, vector.LoadOp | vector.StoreOp):
        _guard_run(op, ranges, memory, lanes, _places(op, size - lanes))
    elif isinstance(op, GatherOp):
        _guard_lanes(op, op.indices, memory, lanes, size, op.offsets)
    else:
        on = ranges.lanes_on(op.mask)
        low, high = _flat_range(ranges, memory, op.indices)
        if low >= 0 and high + (lanes if on is None else on[1]) <= size:
            return
        if on is None:
            _guard_lanes(op, op.indices, memory, lanes, size, None)
        else:
            _guard_first_lanes(op, memory, lanes, size)


def _flat_range(ranges: IndexRanges, memory: SSAValue, indices: Sequence[SSAValue]) -> Range:
    """The range of the element, counted through the whole buffer, at which an access begins."""
    low = high = 0
    for index, stride in zip(indices, _strides(memory), strict=True):
        least, most = ranges.of(index)
        low, high = low + least * stride, high + most * stride
    return low, high


def _strides(memory: SSAValue) -> list[int]:
    shape = _shape(memory)
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _guard_run(
    op: vector.LoadOp | vector.StoreOp,
    ranges: IndexRanges,
    memory: SSAValue,
    lanes: int,
    end: int,
) -> None:
    """All lanes are on, and follow one another."""
    if _is_within(_flat_range(ranges, memory, op.indices), end):
        return
    guard = _Assertion(op)
    flat = guard.flat(memory, op.indices)
    inside = guard.compare(ULT, flat, guard.number(end))
    guard.also(inside)
    first = len(op.operands) - len(op.indices)
    for number, index in enumerate(op.indices, first):
        op.operands[number] = guard.choose(inside, index)
    guard.finish()


def _guard_first_lanes(
    op: vector.MaskedLoadOp | vector.MaskedStoreOp, memory: SSAValue, lanes: int, size: int
) -> None:
    """The mask has so many of the first lanes on as its number says."""
    mask = op.mask.owner
    assert isinstance(mask, vector.CreateMaskOp)
    guard = _Assertion(op)
    zero = guard.number(0)
    on = guard.index(arith.MaxSIOp, mask.mask_dim_sizes[0], zero)
    on = guard.index(arith.MinSIOp, on, guard.number(lanes))
    flat = guard.flat(memory, op.indices)
    last = guard.index(arith.SubiOp, guard.number(size), on)
    inside = guard.both(guard.compare(SGE, flat, zero), guard.compare(SLE, flat, last))
    inside = guard.either(inside, guard.compare(SLE, on, zero))
    guard.also(inside)
    each = guard.add(vector.BroadcastOp(inside, VectorType(i1, [lanes])))
    _put_mask(op, op.mask, guard.both(op.mask, each))
    guard.finish()


def _guard_lanes(
    op: vector.MaskedLoadOp | vector.MaskedStoreOp | GatherOp,
    indices: Sequence[SSAValue],
    memory: SSAValue,
    lanes: int,
    size: int,
    offsets: SSAValue | None,
) -> None:
    """Any lanes may be on; with `offsets` each is somewhere else."""
    guard = _Assertion(op)
    kind = VectorType(i64, [lanes])
    start = guard.add(arith.IndexCastOp(guard.flat(memory, indices), i64))
    positions = guard.add(vector.BroadcastOp(start, kind))
    if offsets is None:
        numbers = DenseIntOrFPElementsAttr.from_list(kind, list(range(lanes)))
        offsets = guard.add(arith.ConstantOp(numbers))
    positions = guard.add(arith.AddiOp(positions, guard.wide(offsets, kind)))
    ends = DenseIntOrFPElementsAttr.from_list(kind, [size] * lanes)
    end = guard.add(arith.ConstantOp(ends))
    compared = vector_arith.CmpiOp.create(
        operands=[positions, end],
        result_types=[op.mask.type],
        properties={"predicate": IntegerAttr(ULT, i64)},
    )
    mask = guard.both(op.mask, guard.add(compared))
    left_out = guard.add(arith.XOrIOp(op.mask, mask))
    joined = vector.ReductionOp.create(
        operands=[left_out],
        result_types=[i1],
        properties={"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR)},
    )
    any_left_out = guard.add(joined)
    true = guard.add(arith.ConstantOp(IntegerAttr(1, i1)))
    guard.also(guard.add(arith.XOrIOp(any_left_out, true)))
    _put_mask(op, op.mask, mask)
    guard.finish()


def _put_mask(op: Operation, old: SSAValue, new: SSAValue) -> None:
    """`old` may be stored, too: the mask is the last operand but one."""
    assert op.operands[-2] is old
    op.operands[len(op.operands) - 2] = new


class _Assertion:
    """What stands in front of an access: a condition, and numbers that are chosen by it."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.builder = Builder(InsertPoint.before(op))
        self.condition: SSAValue | None = None

    def add(self, op: Operation) -> SSAValue:
        """Puts an op in front of the access."""
        op.location = self.op.location
        return self.builder.insert(op).results[0]

    def number(self, value: int) -> SSAValue:
        """An index that is known."""
        return self.add(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def index(
        self,
        kind: type[arith.SignlessIntegerBinaryOperation],
        left: SSAValue,
        right: SSAValue,
    ) -> SSAValue:
        """An op of two indices."""
        return self.add(kind(left, right))

    def compare(self, predicate: int, left: SSAValue, right: SSAValue) -> SSAValue:
        """Compares two indices."""
        return self.add(arith.CmpiOp(left, right, predicate))

    def both(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Whether two conditions hold, lane by lane of masks."""
        return self.add(arith.AndIOp(left, right))

    def either(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Whether one of two conditions holds."""
        return self.add(arith.OrIOp(left, right))

    def choose(self, inside: SSAValue, index: SSAValue) -> SSAValue:
        """The index where the access is inside, else 0."""
        return self.add(arith.SelectOp(inside, index, self.number(0)))

    def flat(self, memory: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The element, counted through the whole buffer, at which the access begins.

        Where the sum goes round, so does the address, to the same place.
        """
        total = self.number(0)
        for index, stride in zip(indices, _strides(memory), strict=True):
            step = self.index(arith.MuliOp, index, self.number(stride))
            total = self.index(arith.AddiOp, total, step)
        return total

    def wide(self, offsets: SSAValue, kind: VectorType) -> SSAValue:
        """Offsets of lanes in 64 bits."""
        assert isinstance(offsets.type, VectorType)
        element = offsets.type.element_type
        if element == i64:
            return offsets
        is_index = isinstance(element, IndexType)
        cast = vector_arith.IndexCastOp if is_index else vector_arith.ExtSIOp
        return self.add(cast(offsets, kind))

    def also(self, condition: SSAValue) -> None:
        """One more condition that is asserted."""
        before = self.condition
        self.condition = condition if before is None else self.both(before, condition)

    def finish(self) -> None:
        """Asserts the conditions, if there is one."""
        if self.condition is not None:
            place = place_of(self.op)
            message = f"{self.op.name}: outside of its buffer"
            assertion = cf.AssertOp(self.condition, f"{place}: {message}" if place else message)
            assertion.location = self.op.location
            self.builder.insert(assertion)
