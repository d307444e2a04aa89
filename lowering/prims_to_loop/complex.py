"""Complex tensors and their parts, which lie side by side in memory."""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import tensor as shaped
from lamina.lowering.prims_to_loop.table import LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("real", "imag")
def _part(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Every second float."""
    source = op.operands[0]
    shape, element = shape_of(source), element_of(op.results[0])
    pairs = b.seen_as(source, shaped([*shape, 2], element))
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
    return b.seen_as(pairs, shaped(shape, ComplexType(element)))  # pyright: ignore[reportArgumentType]
