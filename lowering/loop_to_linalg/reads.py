"""Reads of nests as operands of `linalg.generic`: padded and cut where the map needs it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from lamina.dialects.loop.linear import value_range
from lamina.lowering.upstream_text import signless
from lamina.passes.refusal import unsupported

MOST_PADDING = 1 << 31
"""Elements along a dimension that MLIR's tools are asked to pad: beyond any real image."""


def insert(anchor: Operation, op: Operation) -> SSAValue:
    """Put an op in front of `anchor`; its first result."""
    op.location = anchor.location
    block = anchor.parent
    assert block is not None
    block.insert_op_before(op, anchor)
    return op.results[0]


def operand_of(
    anchor: Operation,
    value: SSAValue,
    index_map: AffineMap,
    pad: Attribute | None,
    extents: Sequence[int],
) -> tuple[SSAValue, list[AffineExpr]]:
    """A tensor and a map that stays inside it, and that covers it where it is a dimension."""
    kind = value.type
    assert isinstance(kind, TensorType)
    shape = list(kind.get_shape())
    exprs = list(index_map.results)
    low, high = [0] * len(shape), [0] * len(shape)
    for axis, (expr, size) in enumerate(zip(exprs, shape, strict=True)):
        least, most = value_range(expr, extents)
        low[axis], high[axis] = max(0, -least), max(0, most - size + 1)
    if any((*low, *high)):
        assert pad is not None, "reads without a pad stay inside"
        if max(*low, *high) > MOST_PADDING:
            raise unsupported(anchor, f"a read that is padded by {max(*low, *high)} elements")
        shape = [a + size + z for a, size, z in zip(low, shape, high, strict=True)]
        value = _padded(anchor, value, low, high, pad, shape)
        exprs = [_moved(expr, amount) for expr, amount in zip(exprs, low, strict=True)]
    wanted = [
        extents[expr.position] if isinstance(expr, AffineDimExpr) else size
        for expr, size in zip(exprs, shape, strict=True)
    ]
    if wanted != shape:
        value = _cut(anchor, value, wanted)
    return value, exprs


def _moved(expr: AffineExpr, amount: int) -> AffineExpr:
    """`expr + amount`, as a dimension alone where it is one."""
    return (expr + amount).simplify(16, 0) if amount else expr


def _padded(
    anchor: Operation,
    value: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    pad: Attribute,
    shape: Sequence[int],
) -> SSAValue:
    number = insert(anchor, arith.ConstantOp(signless(pad)))  # pyright: ignore
    if number.type != (element := value.type.element_type):  # pyright: ignore
        number = insert(anchor, arith.BitcastOp(number, element))
    block = Block(arg_types=[IndexType()] * len(shape))
    block.add_op(tensor.YieldOp(number))
    made = tensor.PadOp(value, [], [], Region(block), low, high, TensorType(element, shape))
    return insert(anchor, made)


def _cut(anchor: Operation, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The first elements along each dimension."""
    rank = len(sizes)
    lists = {
        "static_offsets": [0] * rank,
        "static_sizes": list(sizes),
        "static_strides": [1] * rank,
    }
    made = tensor.ExtractSliceOp.build(
        operands=[value, [], [], []],
        result_types=[TensorType(value.type.element_type, sizes)],  # pyright: ignore
        properties={name: DenseArrayBase.from_list(i64, given) for name, given in lists.items()},
    )
    return insert(anchor, made)
