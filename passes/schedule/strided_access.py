"""Vectors of every second to fourth element: neighbouring vectors, shuffled.

A gather, or a store lane by lane, takes about a cycle for each lane; a load or store and a shuffle
take one each, whatever the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.memory_ops import vector_store_op
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute

MOST_STRIDE = 4
"""From a stride of five on, most of what is loaded is thrown away."""


@record
class Elements:
    """`memory[at + stride * lane]` for so many lanes of a flat memref, those that `mask` keeps."""

    memory: SSAValue
    at: Index
    stride: int = 1
    lanes: int = 1
    mask: SSAValue | None = None

    @property
    def element(self) -> Attribute:
        """Their type."""
        kind = self.memory.type
        assert isinstance(kind, MemRefType)
        return kind.element_type

    @property
    def is_empty(self) -> bool:
        """Whether the memory has none: a place in it that is checked may be no address."""
        return 0 in self.memory.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]

    def can_be_shuffled(self) -> bool:
        """Whether `deinterleave` can read them: of whole bytes, the first ones if not all."""
        bits = getattr(self.element, "bitwidth", 0)
        whole = self.mask is None or isinstance(self.mask.owner, vector.CreateMaskOp)
        return 2 <= self.stride <= MOST_STRIDE and self.lanes >= self.stride and bits >= 8 and whole


def can_interleave(where: Elements) -> bool:
    """Whether `interleave` can write them; narrow elements are written one by one."""
    return getattr(where.element, "bitwidth", 0) >= 32 and where.can_be_shuffled()


def deinterleave(emit: Emitter, where: Elements) -> SSAValue:
    """The elements, as a vector.

    Nothing behind the last one is read: the last vector that is loaded ends with it.
    """
    stride, lanes = where.stride, where.lanes
    starts = [number * lanes for number in range(stride - 1)]
    starts.append((stride - 1) * (lanes - 1))
    parts = [_part(emit, where, start) for start in starts]
    made, held = parts[0], {lane: stride * lane for lane in range(lanes) if stride * lane < lanes}
    for number in range(1, stride):
        taken = {
            lane: lanes + stride * lane - starts[number]
            for lane in range(lanes)
            if lane not in held and 0 <= stride * lane - starts[number] < lanes
        }
        order = [taken.get(lane, held.get(lane, 0)) for lane in range(lanes)]
        made = shuffled(emit, made, parts[number], order)
        held = {lane: lane for lane in (*held, *taken)}
    return made


def interleave(emit: Emitter, value: SSAValue, where: Elements) -> None:
    """Writes lane after lane, and nothing between them."""
    stride, lanes, mask = where.stride, where.lanes, where.mask
    for number in range(stride):
        start = number * lanes
        held = [(start + lane) % stride == 0 for lane in range(lanes)]
        order = [(start + lane) // stride for lane in range(lanes)]
        spread = shuffled(emit, value, value, order)
        kind = VectorType(i1, [lanes])
        on = emit.constant(DenseIntOrFPElementsAttr.from_list(kind, [int(h) for h in held]))
        if mask is not None:
            on = emit.add(arith.AndIOp(on, _widened(emit, mask, start, stride, lanes)))
        at = emit.value(emit.plus(where.at, start))
        emit.run(vector.MaskedStoreOp(where.memory, [at], on, spread))


def store_pairs(emit: Emitter, parts: tuple[SSAValue, SSAValue], where: Elements) -> None:
    """Writes lane after lane of both in turn, from the place of the first lane on."""
    lanes = where.lanes
    for number in range(2):
        start = number * lanes // 2
        order = [start + lane // 2 + lane % 2 * lanes for lane in range(lanes)]
        made = shuffled(emit, *parts, order)
        at = emit.value(emit.plus(where.at, number * lanes))
        if where.mask is None:
            emit.run(vector_store_op(made, where.memory, at))
            continue
        # Both parts of the lanes that the mask keeps.
        on = _widened(emit, where.mask, number * lanes - 1, 2, lanes)
        emit.run(vector.MaskedStoreOp(where.memory, [at], on, made))


def _part(emit: Emitter, where: Elements, start: int) -> SSAValue:
    """The vector `start` behind the first one; zeros behind the last element that is wanted."""
    at = [emit.value(emit.plus(where.at, start))]
    if where.mask is None:
        return emit.add(vector.LoadOp(where.memory, at, VectorType(where.element, [where.lanes])))
    zero = emit.splat(number_attribute(0, where.element), where.lanes)
    on = _widened(emit, where.mask, start, where.stride, where.lanes)
    return emit.add(vector.MaskedLoadOp(where.memory, at, on, zero))


def _widened(emit: Emitter, mask: SSAValue, start: int, stride: int, lanes: int) -> SSAValue:
    """Which of the places from `start` on are no further than the last lane that `mask` keeps."""
    owner = mask.owner
    assert isinstance(owner, vector.CreateMaskOp)
    given = owner.operands[0]
    known = given.owner.value if isinstance(given.owner, arith.ConstantOp) else None
    count: Index = known.value.data if isinstance(known, IntegerAttr) else given
    return emit.first_lanes(emit.minus(emit.times(count, stride), stride - 1 + start), lanes)


def shuffled(emit: Emitter, one: SSAValue, other: SSAValue, order: Sequence[int]) -> SSAValue:
    """Lanes of two vectors, which count on from the first to the second."""
    kind = one.type
    assert isinstance(kind, VectorType)
    picked = DenseArrayBase.from_list(i64, list(order))
    made = VectorType(kind.element_type, [len(order)])
    return emit.add(vector.ShuffleOp(one, other, picked, result_type=made))
