"""Reads through index tensors."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.tensor_types import element_of, normalized, shape_of


@lowers("take")
def _take(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """result[i, j, k] = a[i, index[j], k]; an index outside the dimension is an error."""
    source, index = op.operands
    shape, positions = shape_of(source), shape_of(index)
    dim = normalized(op.arg("dim"), len(shape))
    out = shape_of(op.results[0])

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        at, table = args
        after = dim + len(positions)
        indices = [inner.index(p) for p in range(dim)]
        indices.append(inner.as_index(at))
        indices += [inner.index(after + p) for p in range(len(shape) - dim - 1)]
        return [inner.read(table, indices)]

    where: Map = [d(dim + p) for p in range(len(positions))]
    write = (None, "store", out, element_of(source))
    return b.generic(out, [(index, where)], [write], body, sources=[source]).res[0]


@lowers("gather")
def _gather(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """result[i] = a[i with `dim` replaced by index[i]]."""
    source, index = op.operands
    shape = shape_of(source)
    dim = normalized(op.arg("dim"), len(shape))
    out = shape_of(op.results[0])

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        at, table = args
        indices = [inner.as_index(at) if p == dim else inner.index(p) for p in range(len(shape))]
        return [inner.read(table, indices)]

    write = (None, "store", out, element_of(source))
    return b.generic(out, [(index, None)], [write], body, sources=[source]).res[0]
