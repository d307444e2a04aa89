"""Reductions over sliding windows (pooling)."""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.monoids import extreme_monoid
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, is_certain, shape_of
from lamina.lowering.window_taps import clipped

WINDOW_COMBINERS = {"max": "max", "min": "min", "add": "add"}


@lowers("reduce_window")
def _reduce_window(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    source = op.operands[0]
    element, out = element_of(source), shape_of(op.results[0])
    domain, exprs, beyond = _walk(op, source, out)
    rank = len(out)
    combiner = WINDOW_COMBINERS.get(op.arg("combiner"))
    if combiner is None:
        known = ", ".join(WINDOW_COMBINERS)
        raise b.refuse(f"no window combiner '{op.arg('combiner')}'", known)
    wide = f32 if is_half(element) else element
    if combiner != "add" and scalar.is_unsigned(element):
        wide = i64  # combiners compare signed numbers
    pad = identity_value(combiner, element) if beyond else None
    write = ([d(p) for p in range(rank)], combiner, out, wide)
    made = b.generic(
        domain,
        [(source, exprs)],
        [write],
        lambda i, a: [scalar.convert(i, a[0], wide)],
        pads=[pad],
    ).res[0]
    if wide == element:
        return made
    if scalar.is_unsigned(element):
        return b.pointwise([made], element, lambda i, a: scalar.convert(i, a[0], element))
    return b.pointwise([made], element, lambda i, a: scalar.rounded(i, a[0], element))


def _walk(op: SchemaOp, source: SSAValue, out: list[int]) -> tuple[list[int], Map, bool]:
    """Domain of windows and places within, the read's map, and whether it leaves the source."""
    shape, stride, dilation = shape_of(source), op.arg("stride"), op.arg("dilation")
    window, padding = _clipped(op, shape, out)
    kept, rank = len(shape) - len(window), len(out)
    exprs: Map = [d(p) for p in range(kept)]
    beyond = False
    for p, size in enumerate(window):
        expr = d(kept + p) * stride[p] + d(rank + p) * dilation[p]
        exprs.append(expr - padding[p] if padding[p] else expr)
        last = (out[kept + p] - 1) * stride[p] + (size - 1) * dilation[p] - padding[p]
        extent = shape[kept + p]
        inside = is_certain(lambda last=last, extent=extent: last < extent)
        beyond = beyond or padding[p] > 0 or not inside
    return [*out, *window], exprs, beyond


def _clipped(op: SchemaOp, shape: list[int], out: list[int]) -> tuple[list[int], list[int]]:
    """Window and padding without the places that lie in the border whatever the window."""
    dims = len(op.arg("window"))
    names = ("window", "stride", "padding", "dilation")
    return clipped(shape[-dims:], out[-dims:], *(op.arg(name) for name in names))


@lowers("window_index")
def _window_index(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """The extreme of each window and the least place that holds it, in one walk.

    A place that holds NaN counts as one less than minus itself, with the most extreme value, so
    that the last NaN is least. Places in the border are beyond all others.
    """
    source = op.operands[0]
    element, out = element_of(source), shape_of(op.results[0])
    dims = len(op.arg("window"))
    shape = shape_of(source)[-dims:]
    domain, exprs, beyond = _walk(op, source, out)
    wide = f32 if is_half(element) else element
    if scalar.is_unsigned(element):
        wide = i64
    pad = identity_value("max", element) if beyond else None
    rank = len(out)
    kept: Map = [d(p) for p in range(rank)]
    _, padding = _clipped(op, shape_of(source), out)
    # Steps of a window leave its source by less than its size.
    index = i32 if prod(2 * extent for extent in shape) < 1 << 31 else i64
    monoid = extreme_monoid(wide, index, largest=True)

    def pair(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        value = scalar.convert(inner, args[0], wide)
        flat: SSAValue = inner.constant(0, index)
        inside: SSAValue = inner.constant(1, i1)
        for p, extent in enumerate(shape):
            where = _coordinate(inner, op, rank, dims, p, padding[p], index)
            fits = scalar.bitwise_and(
                inner,
                compare(inner, "ge", where, inner.constant(0, index)),
                compare(inner, "lt", where, inner.constant(extent, index)),
            )
            inside = scalar.bitwise_and(inner, inside, fits)
            flat = scalar.add(inner, scalar.mul(inner, flat, inner.constant(extent, index)), where)
        if scalar.is_float(wide):
            nan = compare(inner, "ne", value, value)
            turned = scalar.sub(inner, inner.constant(-1, index), flat)
            flat = select(inner, nan, turned, flat)
            value = select(inner, nan, inner.constant(inf, wide), value)
        if beyond:
            flat = select(inner, inside, flat, inner.add(constant_op(monoid.identities[1])))
        return [value, flat]

    writes = [(kept, COMBINE, out, kind) for kind in (wide, index)]
    found = b.generic(domain, [(source, exprs)], writes, pair, pads=[pad], monoids=[monoid]).res

    def decoded(inner: Body, args: list[SSAValue]) -> SSAValue:
        negative = compare(inner, "lt", args[0], inner.constant(0, index))
        turned = scalar.sub(inner, inner.constant(-1, index), args[0])
        return scalar.convert(inner, select(inner, negative, turned, args[0]), i64)

    return b.pointwise([found[1]], i64, decoded)


def _coordinate(
    inner: Body, op: SchemaOp, rank: int, dims: int, p: int, padding: int, kind: Attribute
) -> SSAValue:
    """Position in trailing dimension `p` of the source, as an integer; outside in the border."""
    stride, dilation = (op.arg(n)[p] for n in ("stride", "dilation"))
    window = inner.add(arith.IndexCastOp(inner.index(rank - dims + p), kind))
    within = inner.add(arith.IndexCastOp(inner.index(rank + p), kind))
    at = scalar.mul(inner, window, inner.constant(stride, kind))
    at = scalar.add(inner, at, scalar.mul(inner, within, inner.constant(dilation, kind)))
    return scalar.sub(inner, at, inner.constant(padding, kind))
