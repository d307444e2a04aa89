"""Bools in memory are bytes, as in C: MLIR packs vectors of `i1`, and has no code for the rest."""

from __future__ import annotations

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
    i8,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.linalg.vector_ops import VECTOR_CASTS

_PASSED: dict[str, int] = {"vector.maskedload": -1, "vector.gather": -1}
"""Loads that take the lanes which are not read: the operand."""

_STORED: dict[str, int] = {
    "memref.store": 0,
    "vector.store": 0,
    "vector.maskedstore": -1,
    "vector.scatter": -1,
}
"""Stores: the operand that is stored."""

_LOADS = ("memref.load", "vector.load", *_PASSED)


def bools_as_bytes(module: ModuleOp) -> None:
    """Change loads and stores of bools, then the types of memory."""
    for op in list(module.walk()):
        if not any(_holds_bools(operand.type) for operand in op.operands):
            continue
        if op.name in _LOADS:
            if op.name in _PASSED:
                _replace_operand(op, _PASSED[op.name])
            _replace_result(op)
        elif op.name in _STORED:
            _replace_operand(op, _STORED[op.name])
    for op in module.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if _holds_bools(value.type):
                Rewriter.replace_value_with_new_type(value, _bytes(value.type))
        if isinstance(op, func.FuncOp):
            kind = op.function_type
            op.function_type = FunctionType.from_lists(
                [_bytes(one) for one in kind.inputs], [_bytes(one) for one in kind.outputs]
            )


def _holds_bools(kind: Attribute) -> bool:
    return isinstance(kind, MemRefType) and kind.element_type == i1


def _bytes(kind: Attribute) -> Attribute:
    if isinstance(kind, MemRefType) and kind.element_type == i1:
        return MemRefType(i8, kind.get_shape(), kind.layout, kind.memory_space)
    return kind


def _as(kind: Attribute, element: IntegerType) -> Attribute:
    return VectorType(element, kind.get_shape()) if isinstance(kind, VectorType) else element


def _converted(name: str, value: SSAValue, element: IntegerType) -> Operation:
    """`extui` or `trunci` of a number, or lane by lane."""
    kind = _as(value.type, element)
    scalars: dict[str, type[Operation]] = {"extui": arith.ExtUIOp, "trunci": arith.TruncIOp}
    op = (VECTOR_CASTS if isinstance(kind, VectorType) else scalars)[name]
    return op.create(operands=[value], result_types=[kind])


def _replace_operand(op: Operation, place: int) -> None:
    wide = _converted("extui", op.operands[place], i8)
    block = op.parent
    assert block is not None
    block.insert_op_before(wide, op)
    op.operands[place % len(op.operands)] = wide.results[0]


def _replace_result(op: Operation) -> None:
    block, result = op.parent, op.results[0]
    assert block is not None
    given = Rewriter.replace_value_with_new_type(result, _as(result.type, i8))
    narrow = _converted("trunci", given, i1)
    block.insert_op_after(narrow, op)
    given.replace_all_uses_with(narrow.results[0])
    narrow.operands[0] = given
