"""Histograms: each element finds its bin, and the bins are added up."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_float, shape_of


def _range(
    b: PrimsBuilder, x: SSAValue, low: float | None, high: float | None, apart: float
) -> tuple[SSAValue, SSAValue]:
    """The ends of the histogram: those given, or the data's; equal ones are moved `apart`."""
    element: Attribute = element_of(x)
    if low is not None and high is not None and low != high:
        return b.full([], low, element), b.full([], high, element)
    if low is not None and high is not None and (apart < 1 or low):
        first, last = b.full([], low, element), b.full([], high, element)
    elif shape_of(x)[0]:
        first, last = b("amin", x, [0]), b("amax", x, [0])
    elif apart < 1:
        return b.full([], 0, element), b.full([], 1, element)
    else:
        first, last = b.full([], 0, element), b.full([], 0, element)
    same = b("eq", first, last)
    return (
        b.where(same, b.with_number("sub", first, apart), first),
        b.where(same, b.with_number("add", last, apart), last),
    )


def _counted(
    b: PrimsBuilder, place: SSAValue, inside: SSAValue, weight: SSAValue, bins: int
) -> SSAValue:
    """Weights added at their bins; what is outside goes to one bin more, which is dropped."""
    place = b.where(inside, place, b.full(shape_of(place), bins, i64))
    return b.slice(
        b("put", b.full([bins + 1], 0, element_of(weight)), place, weight, 0, "add"), 0, 0, bins
    )


def _within(b: PrimsBuilder, x: SSAValue, low: SSAValue, high: SSAValue) -> SSAValue:
    return b("bitwise_and", b("ge", x, low), b("le", x, high))


@lowers("histc")
def histc(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Bins of equal width, the last one closed; what lies outside is not counted."""
    x, bins = op.arg("self"), op.arg("bins")
    if not is_float(element_of(x)):
        raise b.refuse("histograms of integers", "floats")
    low, high = op.arg("min"), op.arg("max")
    x = b.reshape(x, [prod(shape_of(x))])
    first, last = _range(b, x, low, high, 1)
    shape = shape_of(x)
    first, last = (b("broadcast_in_dim", v, shape, []) for v in (first, last))
    share = b("div", b("sub", x, first), b("sub", last, first))
    inside = _within(b, x, first, last)
    share = b.where(inside, share, b.full(shape, 0, element_of(x)))
    place = b.convert(b.with_number("mul", share, bins), i64)
    place = b.with_number("minimum", place, bins - 1)
    return _counted(b, place, inside, b.full(shape, 1, element_of(x)), bins)


@lowers("histogram.bin_ct", "histogram.bins_tensor")
def histogram(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Counts or weights between neighbouring edges, and the edges."""
    x, weight = op.arg("self"), op.arg("weight")
    element: Attribute = element_of(x)
    x = b.reshape(x, [prod(shape_of(x))])
    shape = shape_of(x)
    if op.schema.arg("range") is None:
        edges = op.arg("bins")
    else:
        low, high = op.arg("range") or (None, None)
        first, last = _range(b, x, low, high, 0.5)
        edges = _edges(b, first, last, op.arg("bins"))
    bins = shape_of(edges)[0] - 1
    place = b.with_number("sub", b("searchsorted", edges, x, True), 1)
    low, high = (b("broadcast_in_dim", b.reshape(b.slice(edges, 0, at, at + 1), []), shape, [])
                 for at in (0, bins))  # fmt: skip
    weights = b.full(shape, 1, element) if weight is None else b.reshape(weight, shape)
    place = b.with_number("minimum", place, bins - 1)
    made = _counted(b, place, _within(b, x, low, high), weights, bins)
    if op.arg("density"):
        total = b("broadcast_in_dim", b("sum", made, [0]), [bins], [])
        width = b("sub", b.slice(edges, 0, 1, bins + 1), b.slice(edges, 0, 0, bins))
        made = b("div", made, b("mul", total, width))
    return [made, edges]


def _edges(b: PrimsBuilder, first: SSAValue, last: SSAValue, bins: int) -> SSAValue:
    """bins + 1 numbers at equal distances, counted from the nearer end, as linspace does."""
    element, shape = element_of(first), [bins + 1]
    step = b("broadcast_in_dim", b.with_number("div", b("sub", last, first), bins), shape, [])
    number = b.iota(bins + 1, i64)
    up = b("mul", b.convert(number, element), step)
    down = b("mul", b.convert(b.iota(bins + 1, i64, bins, -1), element), step)
    low, high = (b("broadcast_in_dim", v, shape, []) for v in (first, last))
    near = b.with_number("lt", number, (bins + 1) // 2)
    return b.where(near, b("add", low, up), b("sub", high, down))
