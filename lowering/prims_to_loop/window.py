"""Reductions over sliding windows (pooling)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import number
from lamina.lowering.tensor_types import element_of, shape_of

WINDOW_COMBINERS = {"max": "max", "min": "min", "add": "add"}


@lowers("reduce_window")
def _reduce_window(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    source = op.operands[0]
    element = element_of(source)
    shape, out = shape_of(source), shape_of(op.results[0])
    window, stride = op.arg("window"), op.arg("stride")
    padding, dilation = op.arg("padding"), op.arg("dilation")
    kept = len(shape) - len(window)
    rank = len(out)
    exprs: Map = [d(p) for p in range(kept)]
    beyond = False
    for p, size in enumerate(window):
        expr = d(kept + p) * stride[p] + d(rank + p) * dilation[p]
        exprs.append(expr - padding[p] if padding[p] else expr)
        last = (out[kept + p] - 1) * stride[p] + (size - 1) * dilation[p] - padding[p]
        beyond = beyond or padding[p] > 0 or last >= shape[kept + p]
    combiner = WINDOW_COMBINERS.get(op.arg("combiner"))
    if combiner is None:
        known = ", ".join(WINDOW_COMBINERS)
        raise b.refuse(f"no window combiner '{op.arg('combiner')}'", known)
    wide = f32 if is_half(element) else element
    pad = identity(combiner, element) if beyond else None
    write = ([d(p) for p in range(rank)], combiner, out, wide)
    made = b.generic(
        [*out, *window],
        [(source, exprs)],
        [write],
        lambda i, a: [scalar.convert(i, a[0], wide)],
        pads=[pad],
    ).res[0]
    if wide == element:
        return made
    return b.pointwise([made], element, lambda i, a: scalar.rounded(i, a[0], element))


def identity(combiner: str, element: Attribute) -> Attribute:
    """What a combiner ignores."""
    if combiner in ("add", "mul"):
        return number(0 if combiner == "add" else 1, element)
    if scalar.is_unsigned(element):
        return number(0 if combiner == "max" else -1, element)
    if isinstance(element, IntegerType):
        bits = element.width.data
        return number(-(1 << bits - 1) if combiner == "max" else (1 << bits - 1) - 1, element)
    return number(float("-inf") if combiner == "max" else float("inf"), element)
