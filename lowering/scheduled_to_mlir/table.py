"""What each `loop` op of a scheduled program is in MLIR's own dialects."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith, func, memref, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    MemRefType,
    ModuleOp,
    VectorType,
    f32,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from lamina.dialects.linalg import RemFOp
from lamina.dialects.linalg.elementwise_bools import CmpfOp, CmpiOp, SelectOp
from lamina.dialects.linalg.vector_ops import VECTOR_CASTS, CompressStoreOp, GatherOp
from lamina.dialects.loop.compress import CompressOp
from lamina.dialects.loop.dot_pairs import DotPairsOp
from lamina.dialects.loop.special import SpecialOp
from lamina.lowering.scheduled_to_mlir.bool_memory import bools_as_bytes
from lamina.lowering.upstream_text import OWN, drop_own_attributes, make_signless
from lamina.passes.refusal import unsupported

Lowering = Callable[[Operation], list[Operation]]
"""From an op to those in its place, of which the last gives its results."""

_REASONS = {
    "loop.extern": "calls a kernel of Lamina's own run time",
    "loop.row": "hands a part of a buffer to a kernel as a whole one",
}

_NO_TILES = 'tiles of matrix registers; a target without them makes none: cpu="x86-64-v4"'


def convert(module: ModuleOp) -> None:
    """Change a scheduled program in place.

    Raises UnsupportedError, with the op and its place, for what has no form in MLIR.
    """
    for op in list(module.walk()):
        if op.parent is None or op.name.partition(".")[0] not in OWN:
            continue
        lower = _TABLE.get(op.name)
        if lower is None:
            raise _missing(op)
        made = lower(op)
        block = op.parent
        for one in made:
            one.location = op.location
            block.insert_op_before(one, op)
        if op.results:
            for old, new in zip(op.results, made[-1].results, strict=True):
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
        op.detach()
        op.erase()
    drop_own_attributes(module)
    make_signless(module)
    bools_as_bytes(module)


def _missing(op: Operation) -> Exception:
    if op.name.startswith("loop.tile_"):
        return unsupported(op, "has no form in MLIR's common dialects", _NO_TILES)
    return unsupported(op, _REASONS.get(op.name, "has no form in MLIR's own dialects"))


def _reshape(op: Operation) -> list[Operation]:
    kind = op.results[0].type
    assert isinstance(kind, MemRefType)
    shape = list(kind.get_shape())
    strides = [prod(shape[n + 1 :]) for n in range(len(shape))]
    return [memref.ReinterpretCastOp.from_dynamic(op.operands[0], [0], shape, strides, kind)]


def _inlined(op: Operation) -> list[Operation]:
    """The ops of a team's body: one thread runs them in order."""
    inner = list(op.regions[0].block.ops)
    for one in inner:
        one.detach()
    return inner


def _thread(op: Operation) -> list[Operation]:
    return [arith.ConstantOp.from_int_and_width(0, IndexType())]


def _num_threads(op: Operation) -> list[Operation]:
    return [arith.ConstantOp.from_int_and_width(1, IndexType())]


def _nothing(op: Operation) -> list[Operation]:
    return []


def _gather(op: Operation) -> list[Operation]:
    base, *indices, offsets, mask, others = op.operands
    parts: list[SSAValue | list[SSAValue]] = [base, indices, offsets, mask, others]
    return [GatherOp.build(operands=parts, result_types=[op.results[0].type])]


def _compress(op: Operation) -> list[Operation]:
    """By way of memory, which the kernel takes once: lanes behind those that are kept are zeros."""
    assert isinstance(op, CompressOp) and isinstance(op.value.type, VectorType)
    kind = op.value.type
    scratch = memref.AllocaOp.get(kind.element_type, 64, kind.get_shape())
    start = arith.ConstantOp.from_int_and_width(0, IndexType())
    Rewriter.insert_op([scratch, start], InsertPoint.at_start(_entry(op)))
    zero = 0.0 if isinstance(kind.element_type, AnyFloat) else 0
    zeros = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, [zero]))  # pyright: ignore
    clear = vector.StoreOp(zeros.result, scratch.memref, [start.result])
    parts: list[SSAValue | list[SSAValue]] = [scratch.memref, [start.result], op.mask, op.value]
    kept = CompressStoreOp.build(operands=parts)
    return [zeros, clear, kept, vector.LoadOp(scratch.memref, [start.result], kind)]


def _entry(op: Operation) -> Block:
    """The first block of the function around an op."""
    above = op.parent_op()
    while above is not None and not isinstance(above, func.FuncOp):
        above = above.parent_op()
    assert above is not None
    return above.body.block


def _dot_pairs(op: Operation) -> list[Operation]:
    """Widened, multiplied, and the products of each pair added up."""
    assert isinstance(op, DotPairsOp) and isinstance(op.total.type, VectorType)
    (lanes,) = op.total.type.get_shape()
    wide = VectorType(f32, [2 * lanes])
    ends = [arith.ExtFOp(operand, wide) for operand in (op.left, op.right)]
    products = arith.MulfOp(ends[0].result, ends[1].result)
    halves = [
        vector.ShuffleOp(
            products.result,
            products.result,
            DenseArrayBase.from_list(i64, list(range(first, 2 * lanes, 2))),
            result_type=op.total.type,
        )
        for first in (0, 1)
    ]
    first = arith.AddfOp(op.total, halves[0].result)
    return [*ends, products, *halves, first, arith.AddfOp(first.result, halves[1].result)]


def _special(op: Operation) -> list[Operation]:
    assert isinstance(op, SpecialOp)
    if op.function.data != "fmod":
        raise unsupported(
            op, f'"{op.function.data}" is no function of math', "functions of arith and math"
        )
    return [RemFOp.build(operands=list(op.operands), result_types=[op.result.type])]


def _as(kind: type[Operation]) -> Lowering:
    """The same operands, results and properties under another name."""

    def lower(op: Operation) -> list[Operation]:
        types = [result.type for result in op.results]
        properties = dict(op.properties)
        return [kind.create(operands=list(op.operands), result_types=types, properties=properties)]

    return lower


_TABLE: dict[str, Lowering] = {
    "loop.reshape": _reshape,
    "loop.team": _inlined,
    "loop.single": _inlined,
    "loop.barrier": _nothing,
    "loop.poll": _nothing,
    "loop.prefetch": _nothing,
    "loop.thread": _thread,
    "loop.num_threads": _num_threads,
    "loop.gather": _gather,
    "loop.special": _special,
    "loop.compress": _compress,
    "loop.dot_pairs": _dot_pairs,
    "loop.cmpf": _as(CmpfOp),
    "loop.cmpi": _as(CmpiOp),
    "loop.select": _as(SelectOp),
    **{f"loop.{name}": _as(kind) for name, kind in VECTOR_CASTS.items()},
}
