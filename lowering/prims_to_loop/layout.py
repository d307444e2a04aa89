"""Primitives that only move elements: copies by index maps, and free reshapes."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, constant, d, lowers
from lamina.lowering.scalar import compare, number, select
from lamina.lowering.tensor_types import element_of, is_certain, normalized, shape_of


@lowers("reshape", "squeeze", "split_dim", "collapse", "collapse_view")
def _reshape(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    return b.reshape(op.operands[0], shape_of(op.results[0]))


@lowers("broadcast_in_dim")
def _broadcast(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    source, shape = op.operands[0], shape_of(op.results[0])
    dims = op.arg("broadcast_dimensions")
    exprs = [
        0 if extent == 1 else d(dim) for dim, extent in zip(dims, shape_of(source), strict=True)
    ]
    return b.copy(source, exprs, shape)


@lowers("as_strided")
def _as_strided(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Elements at offset + sum of index * stride, in the row-major order that tensors have here."""
    source, shape = op.operands[0], shape_of(op.results[0])
    offset = AffineExpr.constant(op.arg("storage_offset"))
    for axis, stride in enumerate(op.arg("stride")):
        offset = offset + d(axis) * stride
    return b.copy(b.reshape(source, [prod(shape_of(source))]), [offset], shape)


@lowers("transpose")
def _transpose(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    permutation = op.arg("permutation")
    exprs = [d(permutation.index(axis)) for axis in range(len(permutation))]
    return b.copy(op.operands[0], exprs, shape_of(op.results[0]))


@lowers("rev")
def _reverse(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    shape = shape_of(op.results[0])
    dims = {normalized(dim, len(shape)) for dim in op.arg("dims")}
    exprs: list[AffineExpr] = [
        d(axis) * -1 + constant(extent - 1) if axis in dims else d(axis)
        for axis, extent in enumerate(shape)
    ]
    return b.copy(op.operands[0], exprs, shape)


@lowers("pad")
def _pad(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Constant edges; negative amounts cut."""
    low, high = op.arg("low"), op.arg("high")
    exprs: Map = [
        d(axis) - constant(amount) if amount else d(axis) for axis, amount in enumerate(low)
    ]
    padded = not all(is_certain(lambda a=amount: a <= 0) for amount in (*low, *high))
    pad = number(op.arg("value"), element_of(op.results[0])) if padded else None
    return b.copy(op.operands[0], exprs, shape_of(op.results[0]), pad)


@lowers("cat")
def _cat(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Every piece read with a pad outside its range, and the piece at hand selected."""
    shape = shape_of(op.results[0])
    element = element_of(op.results[0])
    dim = normalized(op.arg("dim"), len(shape))
    pieces = [v for v in op.operands if shape_of(v)[dim if len(shape_of(v)) > dim else 0]]
    starts: list[int] = []
    total = 0
    for piece in pieces:
        starts.append(total)
        total += shape_of(piece)[dim]
    reads: list[tuple[SSAValue, Map]] = []
    for piece, start in zip(pieces, starts, strict=True):
        exprs: list[AffineExpr] = [d(axis) for axis in range(len(shape))]
        exprs[dim] = exprs[dim] - constant(start) if start else exprs[dim]
        reads.append((piece, exprs))
    zero = number(0, element)

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        chosen = args[-1]
        at = inner.index(dim)
        for value, start in zip(reversed(args[:-1]), reversed(starts[1:]), strict=True):
            limit = inner.constant(start, at.type)
            chosen = select(inner, compare(inner, "lt", at, limit), value, chosen)
        return [chosen]

    if not pieces:
        return b.pointwise([], element, lambda i, _: i.constant(0, element), shape)
    if len(pieces) == 1:
        return b.copy(pieces[0], None, shape)
    write = (None, "store", shape, element)
    return b.generic(shape, reads, [write], body, pads=[zero] * len(reads)).res[0]


@lowers("view_of_dtype")
def _view_of_dtype(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    element = element_of(op.results[0])
    given = element_of(op.operands[0])
    widths = [getattr(kind, "bitwidth", None) for kind in (given, element)]
    if widths[0] != widths[1] or widths[0] is None:
        raise b.refuse("only views of a dtype of equal width are supported")
    return b.pointwise(
        [op.operands[0]], element, lambda inner, a: inner.add(arith.BitcastOp(a[0], element))
    )
