"""Writing vectors to memory and joining accumulators."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from xdsl.dialects import arith, vector
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerType, VectorType, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue

from lamina.dialects.loop.memory_ops import store_op
from lamina.dialects.loop.scalar_ops import binary_op
from lamina.dialects.plain_ops import plain_op
from lamina.passes.schedule.emitter import Emitter
from lamina.passes.schedule.strided_access import Elements, can_interleave, interleave


def store(emit: Emitter, value: SSAValue, where: Elements, *, streamed: bool = False) -> None:
    """Write a vector, or a scalar if there is one lane; past the caches if it is `streamed`."""
    flat, mask = where.memory, where.mask
    if where.lanes == 1:
        emit.run(store_op(value, flat, [emit.value(where.at)]))
        return
    if where.stride == 1:
        if mask is None:
            past = {"nontemporal": BoolAttr.from_bool(True)} if streamed else {}
            operands = (value, flat, emit.value(where.at))
            emit.run(plain_op(vector.StoreOp, operands, (), past))
        else:
            operands = [flat, emit.value(where.at), mask, value]
            emit.run(vector.MaskedStoreOp.create(operands=operands))
        return
    if can_interleave(where):
        interleave(emit, value, where)
        return
    for lane in range(where.lanes):
        element = _lane(emit, value, lane)
        place = emit.value(emit.plus(where.at, lane * where.stride))
        if mask is None:
            emit.run(store_op(element, flat, [place]))
        else:
            one = store_op(element, flat, [place])
            emit.branch(_lane(emit, mask, lane), partial(Emitter.run, op=one))


def store_past_if(emit: Emitter, wanted: SSAValue, value: SSAValue, where: Elements) -> None:
    """Write a vector, past the caches where `wanted` is true and that can be."""
    if where.stride != 1 or where.mask is not None:
        store(emit, value, where)
        return
    where = replace(where, at=emit.value(where.at))
    through = partial(store, value=value, where=where)
    emit.branch(wanted, partial(through, streamed=True), through)


def _lane(emit: Emitter, value: SSAValue, lane: int) -> SSAValue:
    kind = value.type
    assert isinstance(kind, VectorType)
    return emit.add(vector.ExtractOp(value, [lane], kind.element_type))


CONTRACT = FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""Of sums: a product in them may be rounded with its sum only."""
COMBINE_FLOAT = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
COMBINE_BOOLEAN = {
    "add": arith.AddiOp,
    "mul": arith.AndIOp,
    "max": arith.OrIOp,
    "min": arith.AndIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}
"""Signed comparison would take a boolean's 1 for -1."""
COMBINE_INTEGER = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}


def combine(emit: Emitter, combiner: str, left: SSAValue, right: SSAValue) -> SSAValue:
    """Join two accumulators."""
    kind = left.type.element_type if isinstance(left.type, VectorType) else left.type
    table = COMBINE_INTEGER if isinstance(kind, IntegerType | IndexType) else COMBINE_FLOAT
    if kind == i1:
        table = COMBINE_BOOLEAN
    return emit.add(binary_op(table[combiner], left, right))


def take(emit: Emitter, combiner: str, value: SSAValue, total: SSAValue) -> SSAValue:
    """Join a value to its accumulator: a product may be multiplied and added at once."""
    made = combine(emit, combiner, value, total)
    if isinstance(made.owner, arith.AddfOp):
        made.owner.properties["fastmath"] = CONTRACT
    return made
