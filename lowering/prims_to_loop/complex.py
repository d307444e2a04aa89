"""Complex tensors and their parts, which lie side by side in memory."""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import SSAValue

from lamina.dialects.loop import ReshapeOp
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.prims_to_loop.table import LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("real", "imag")
def _part(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Every second float."""
    source = op.operands[0]
    shape, element = shape_of(source), element_of(op.results[0])
    pairs = b.insert(ReshapeOp(source, TensorType(element, [*shape, 2]))).results[0]
    which = 1 if op.name == "prims.imag" else 0
    return b.copy(pairs, [*(d(axis) for axis in range(len(shape))), which], shape)


@lowers("complex")
def _complex(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """The parts in turn."""
    shape, element = shape_of(op.operands[0]), element_of(op.operands[0])
    rank = len(shape)
    where: Map = [d(axis) for axis in range(rank)]
    pairs = b.generic(
        [*shape, 2],
        [(part, where) for part in op.operands],
        [(None, "store", [*shape, 2], element)],
        lambda i, a: [
            select(i, compare(i, "eq", (at := i.index(rank)), i.constant(0, at.type)), *a)
        ],
    ).res[0]
    whole = TensorType(ComplexType(element), shape)  # pyright: ignore[reportArgumentType]
    return b.insert(ReshapeOp(pairs, whole)).results[0]
