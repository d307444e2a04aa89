"""Sums of products: contractions and convolutions."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import number
from lamina.lowering.tensor_types import element_of, shape_of


def _sum_of_products(
    b: LoopBuilder,
    op: SchemaOp,
    domain: list[int],
    reads: list[tuple[SSAValue, Map]],
    written: list[AffineExpr],
    pad: Attribute | None = None,
) -> SSAValue:
    """Half floats are multiplied and summed in f32 and rounded once at the end."""
    element = element_of(op.results[0])
    wide = f32 if is_half(element) else element

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        left, right = (scalar.convert(inner, a, wide) for a in args)
        return [scalar.mul(inner, left, right)]

    write = (written, "add", shape_of(op.results[0]), wide)
    made = b.generic(domain, reads, [write], body, pads=[pad, None]).res[0]
    if wide == element:
        return made
    return b.pointwise([made], element, lambda i, a: scalar.rounded(i, a[0], element))


@lowers("contract")
def _contract(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    left, right = op.operands
    shapes = shape_of(left), shape_of(right)
    batch = op.arg("a_batch"), op.arg("b_batch")
    summed = op.arg("a_contract"), op.arg("b_contract")
    free = [
        [p for p in range(len(shapes[i])) if p not in batch[i] and p not in summed[i]]
        for i in (0, 1)
    ]
    domain = [shapes[0][p] for p in (*batch[0], *free[0])]
    domain += [shapes[1][p] for p in free[1]]
    written = [d(p) for p in range(len(domain))]
    first_summed = len(domain)
    domain += [shapes[0][p] for p in summed[0]]
    maps: list[Map] = []
    offsets = (len(batch[0]), len(batch[0]) + len(free[0]))
    for side in (0, 1):
        place: dict[int, int] = {axis: p for p, axis in enumerate(batch[side])}
        place.update({axis: offsets[side] + p for p, axis in enumerate(free[side])})
        place.update({axis: first_summed + p for p, axis in enumerate(summed[side])})
        maps.append([d(place[axis]) for axis in range(len(shapes[side]))])
    reads = [(left, maps[0]), (right, maps[1])]
    return _sum_of_products(b, op, domain, reads, written)


@lowers("convolution")
def _convolution(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """out[n, g*O+o, x] += input[n, g*C+c, x*stride + k*dilation - pad] * weight[g*O+o, c, k]."""
    source, weight = op.operands
    out, kernel = shape_of(op.results[0]), shape_of(weight)
    groups = op.arg("groups")
    stride, padding, dilation = op.arg("stride"), op.arg("padding"), op.arg("dilation")
    spatial = len(kernel) - 2
    channels, outputs = kernel[1], out[1] // groups
    grouped = groups > 1
    domain = [out[0], *([groups] if grouped else []), outputs, *out[2:], channels, *kernel[2:]]
    first = 2 if grouped else 1
    group, o = d(1), d(first)
    x = [d(first + 1 + p) for p in range(spatial)]
    c = d(first + 1 + spatial)
    k = [d(first + 2 + spatial + p) for p in range(spatial)]
    where: list[AffineExpr] = []
    for p in range(spatial):
        expr = x[p] * stride[p] + k[p] * dilation[p]
        where.append(expr - padding[p] if padding[p] else expr)
    channel = group * channels + c if grouped else c
    row = group * outputs + o if grouped else o
    reads: list[tuple[SSAValue, Map]] = [
        (source, [d(0), channel, *where]),
        (weight, [row, c, *k]),
    ]
    pad = number(0, element_of(source)) if any(padding) else None
    return _sum_of_products(b, op, domain, reads, [d(0), row, *x], pad)
