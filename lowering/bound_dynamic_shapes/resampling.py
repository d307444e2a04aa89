"""Interpolation of images of open size: neighbours and weights are computed with the call's sizes.

Formulas are those of `lowering/core_aten_to_prims/resampling.py`, with sizes in tensors.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.reduction import computed_in
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.resamplings import CUBIC, NAMES
from lamina.lowering.tensor_types import element_of, is_float

Taps = list[tuple[SSAValue, SSAValue | None]]
"""Places, and weights (none for 1), one for each output."""


@record
class Axis:
    """A dimension to resample: how many elements it has, how many outputs, of which `bound` are
    computed; a scale factor, if one is given, goes before their ratio."""

    dim: int
    size: Number
    outputs: Number
    bound: int
    scale: float | None
    corners: bool


@bounds(*NAMES, *(f"{name}.vec" for name in NAMES))
def upsample(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Weighted sums of neighbours, along one dimension after the other."""
    values = op.args()
    name = next(iter(values))
    image = b.tensor(values[name])
    outputs = values["output_size"] or ()
    if not any(isinstance(size, SSAValue) for size in outputs):
        image = only_first_padded(op, b)
    if image.sizes[1] is not None:
        raise b.refuse("a number of channels that depends on data")
    axes = _axes(op, image, b)
    sizes = {axis.dim: axis.outputs for axis in axes}
    method = op.overload_name.partition(".")[0][:-2]
    if all(axis.size.constant is not None and axis.outputs.constant is not None for axis in axes):
        made = b(op.overload_name, **{**values, name: image.value})
        return resized(image, made, {}, b)
    element = element_of(image.value)
    if "nearest" not in method:
        if not is_float(element):
            raise b.refuse("interpolation of integers of unknown number", "floats")
        element = computed_in(element)
    value = b.converted(image.value, element)
    for axis in reversed(axes):
        b.require_least(axis.size, 1, f"dimension {axis.dim} has no elements")
        value = _along(value, axis, _taps(method, axis, element, b), image.rank, b)
    return resized(image, value, sizes, b)


def _axes(op: SchemaOp, image: Bounded, b: BoundBuilder) -> list[Axis]:
    values, count = op.args(), image.rank - 2
    corners = bool(values.get("align_corners"))
    if "scale_factors" in values:
        scales: list[float | None] = values["scale_factors"] or [None] * count
    elif count == 1:
        scales = [values["scales"]]
    else:
        scales = [values[f"scales_{axis}"] for axis in "dhw"[-count:]]
    given = values["output_size"]
    asked = [None] * count if given is None else repeat_to(given, count, "output_size")
    axes: list[Axis] = []
    for dim, (scale, output) in enumerate(zip(scales, asked, strict=True), 2):
        size = b.size(image, dim)
        if output is None:
            assert scale is not None
            outputs = _scaled(size, scale, b)
        else:
            outputs = as_size(b.number(output), b)
        most = outputs.most
        assert most is not None
        axes.append(Axis(dim, size, outputs, most, scale, corners))
    return axes


def _scaled(size: Number, scale: float, b: BoundBuilder) -> Number:
    """The size times a factor, rounded down."""
    if size.constant is not None:
        return Number(int(size.constant * scale), int(size.constant * scale), 0)
    if scale == int(scale) and scale >= 1:
        return affine(size, int(scale), 0, b)
    assert size.most is not None
    value = b("mul.Scalar", b.as_tensor(size, f64), scale)
    return Number(b.converted(b("floor.default", value), i64), int(size.most * scale), 0)


def _along(value: SSAValue, axis: Axis, taps: Taps, rank: int, b: BoundBuilder) -> SSAValue:
    total: SSAValue | None = None
    for place, weight in taps:
        part = b("index_select.default", value, axis.dim, place)
        if weight is not None:
            part = b("mul.Tensor", part, b.along(weight, axis.dim, rank))
        total = part if total is None else b("add.Tensor", total, part)
    assert total is not None
    return total


def _taps(method: str, axis: Axis, element: Attribute, b: BoundBuilder) -> Taps:
    if "nearest" in method:
        return [(_nearest(axis, 0.5 if method.endswith("exact") else 0, b), None)]
    if method.endswith("cubic"):
        return _cubic(axis, element, b)
    place = _source(axis, element, b)
    place = place if axis.corners else b("clamp_min.default", place, 0.0)
    low = _inside(b("floor.default", place), axis, b)
    high = _inside(b("add.Scalar", low, 1), axis, b)
    upper = b("sub.Tensor", place, b.converted(low, element))
    upper = b("clamp.default", upper, 0.0, 1.0)
    return [(low, b("rsub.Scalar", upper, 1.0)), (high, upper)]


def _nearest(axis: Axis, offset: float, b: BoundBuilder) -> SSAValue:
    number = b.converted(b.iota(axis.bound), f32)
    number = b("add.Scalar", number, offset) if offset else number
    return _inside(b("floor.default", _times_ratio(number, axis, b)), axis, b)


def _cubic(axis: Axis, element: Attribute, b: BoundBuilder) -> Taps:
    place = _source(axis, element, b)
    whole = b("floor.default", place)
    fraction = b("sub.Tensor", place, whole)
    rest, a = b("rsub.Scalar", fraction, 1.0), CUBIC
    near, far = (a + 2, -(a + 3), 0, 1), (a, -5 * a, 8 * a, -4 * a)
    weights = (
        _polynomial(far, b("add.Scalar", fraction, 1.0), b),
        _polynomial(near, fraction, b),
        _polynomial(near, rest, b),
        _polynomial(far, b("add.Scalar", rest, 1.0), b),
    )
    places = (b("add.Scalar", whole, offset) for offset in (-1, 0, 1, 2))
    return [(_inside(at, axis, b), w) for at, w in zip(places, weights, strict=True)]


def _polynomial(coefficients: tuple[float, ...], x: SSAValue, b: BoundBuilder) -> SSAValue:
    first, *others = coefficients
    total = b("mul.Scalar", x, first)
    for number, coefficient in enumerate(others):
        total = total if number == 0 else b("mul.Tensor", total, x)
        total = b("add.Scalar", total, coefficient)
    return total


def _source(axis: Axis, element: Attribute, b: BoundBuilder) -> SSAValue:
    """Where each output lies among the elements."""
    index = b.converted(b.iota(axis.bound), element)
    if not axis.corners:
        middle = _times_ratio(b("add.Scalar", index, 0.5), axis, b)
        return b("sub.Scalar", middle, 0.5)
    size, outputs = (b.as_tensor(n, element) for n in (axis.size, axis.outputs))
    steps = b("clamp_min.default", b("sub.Scalar", outputs, 1), 1)
    step = b("div.Tensor", b("sub.Scalar", size, 1), steps)
    return b("mul.Tensor", index, step)


def _times_ratio(value: SSAValue, axis: Axis, b: BoundBuilder) -> SSAValue:
    """Times elements by outputs."""
    if axis.scale is not None and axis.scale > 0:
        return b("mul.Scalar", value, 1 / axis.scale)
    size, outputs = (b.as_tensor(n, element_of(value)) for n in (axis.size, axis.outputs))
    outputs = b("clamp_min.default", outputs, 1)
    return b("mul.Tensor", value, b("div.Tensor", size, outputs))


def _inside(place: SSAValue, axis: Axis, b: BoundBuilder) -> SSAValue:
    """An index that is none of padding."""
    last: Any = b("sub.Scalar", b.as_tensor(axis.size), 1)
    index = b("minimum.default", b.converted(place, i64), last)
    return b("clamp_min.default", index, 0)
