"""Vectors of every second to fourth element: neighbouring vectors, shuffled.

A gather, or a store lane by lane, takes about a cycle for each lane; a load or store and a shuffle
take one each, whatever the lanes.
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from lamina.passes.schedule.emitter import Emitter, Index, number_attribute

MOST_STRIDE = 4
"""From a stride of five on, most of what is loaded is thrown away."""


def can_deinterleave(element: Attribute, stride: int, lanes: int, mask: SSAValue | None) -> bool:
    """Whether `deinterleave` can read such lanes: of whole bytes, the first ones if not all."""
    bits = getattr(element, "bitwidth", 0)
    whole = mask is None or isinstance(mask.owner, vector.CreateMaskOp)
    return 2 <= stride <= MOST_STRIDE and lanes >= stride and bits >= 8 and whole


def can_interleave(element: Attribute, stride: int, lanes: int, mask: SSAValue | None) -> bool:
    """Whether `interleave` can write such lanes; narrow elements are written one by one."""
    wide = getattr(element, "bitwidth", 0) >= 32
    return wide and can_deinterleave(element, stride, lanes, mask)


def deinterleave(
    emit: Emitter,
    memory: SSAValue,
    element: Attribute,
    base: Index,
    stride: int,
    lanes: int,
    mask: SSAValue | None,
) -> SSAValue:
    """`lanes` elements from `memory[base + stride * lane]`.

    Nothing behind the last element is read: the last vector that is loaded ends with it.
    """
    starts = [number * lanes for number in range(stride - 1)]
    starts.append((stride - 1) * (lanes - 1))
    parts = [_part(emit, memory, element, base, start, stride, lanes, mask) for start in starts]
    made, held = parts[0], {lane: stride * lane for lane in range(lanes) if stride * lane < lanes}
    for number in range(1, stride):
        taken = {
            lane: lanes + stride * lane - starts[number]
            for lane in range(lanes)
            if lane not in held and 0 <= stride * lane - starts[number] < lanes
        }
        order = [taken.get(lane, held.get(lane, 0)) for lane in range(lanes)]
        made = _shuffled(emit, made, parts[number], order)
        held = {lane: lane for lane in (*held, *taken)}
    return made


def interleave(
    emit: Emitter,
    value: SSAValue,
    memory: SSAValue,
    base: Index,
    stride: int,
    lanes: int,
    mask: SSAValue | None,
) -> None:
    """Writes lane after lane to `memory[base + stride * lane]`, and nothing between them."""
    for number in range(stride):
        start = number * lanes
        held = [(start + lane) % stride == 0 for lane in range(lanes)]
        order = [(start + lane) // stride for lane in range(lanes)]
        spread = _shuffled(emit, value, value, order)
        kind = VectorType(i1, [lanes])
        on = emit.constant(DenseIntOrFPElementsAttr.from_list(kind, [int(h) for h in held]))
        if mask is not None:
            on = emit.add(arith.AndIOp(on, _widened(emit, mask, start, stride, lanes)))
        at = emit.value(emit.plus(base, start))
        emit.run(vector.MaskedStoreOp(memory, [at], on, spread))


def store_pairs(
    emit: Emitter,
    parts: tuple[SSAValue, SSAValue],
    memory: SSAValue,
    base: Index,
    lanes: int,
    mask: SSAValue | None,
) -> None:
    """Writes lane after lane of both in turn from `memory[base]` on."""
    for number in range(2):
        start = number * lanes // 2
        order = [start + lane // 2 + lane % 2 * lanes for lane in range(lanes)]
        made = _shuffled(emit, *parts, order)
        at = emit.value(emit.plus(base, number * lanes))
        if mask is None:
            emit.run(vector.StoreOp(made, memory, [at]))
            continue
        # Both parts of the lanes that the mask keeps.
        on = _widened(emit, mask, number * lanes - 1, 2, lanes)
        emit.run(vector.MaskedStoreOp(memory, [at], on, made))


def _part(
    emit: Emitter,
    memory: SSAValue,
    element: Attribute,
    base: Index,
    start: int,
    stride: int,
    lanes: int,
    mask: SSAValue | None,
) -> SSAValue:
    """The vector at `base + start`; zeros behind the last element that is wanted."""
    at = [emit.value(emit.plus(base, start))]
    if mask is None:
        return emit.add(vector.LoadOp(memory, at, VectorType(element, [lanes])))
    zero = emit.splat(number_attribute(0, element), lanes)
    on = _widened(emit, mask, start, stride, lanes)
    return emit.add(vector.MaskedLoadOp(memory, at, on, zero))


def _widened(emit: Emitter, mask: SSAValue, start: int, stride: int, lanes: int) -> SSAValue:
    """Which of the places from `start` on are no further than the last lane that `mask` keeps."""
    owner = mask.owner
    assert isinstance(owner, vector.CreateMaskOp)
    given = owner.operands[0]
    known = given.owner.value if isinstance(given.owner, arith.ConstantOp) else None
    count: Index = known.value.data if isinstance(known, IntegerAttr) else given
    return emit.first_lanes(emit.minus(emit.times(count, stride), stride - 1 + start), lanes)


def _shuffled(emit: Emitter, one: SSAValue, other: SSAValue, order: list[int]) -> SSAValue:
    picked = DenseArrayBase.from_list(i64, order)
    return emit.add(vector.ShuffleOp(one, other, picked, result_type=one.type))  # pyright: ignore
