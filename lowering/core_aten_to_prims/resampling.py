"""Interpolation and its gradient, one axis after the other.

Along an axis, each output is a weighted sum of a few inputs (taps); the gradient adds the weighted
outputs at the same places. Antialiased filters have as many taps as the input is shrunk, and
are products with a matrix of weights.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, pi

from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.resampling_bytes import dense_weights, resample_bytes
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.resamplings import CUBIC, NAMES
from lamina.lowering.tensor_types import element_of, is_float, shape_of

UI8 = IntegerType(8, Signedness.UNSIGNED)
"""Bytes, which images consist of."""
SMOOTH_CUBIC = -0.5
"""The same for antialiased interpolation."""


@record
class Axis:
    """One axis to resample: its extents, input / output, and whether the corners are kept."""

    extent: int
    out: int
    ratio: float
    corners: bool


Taps = list[tuple[SSAValue, SSAValue | None]]
"""Places, and weights (none for 1), one for each output."""

Method = Callable[[PrimsBuilder, Axis, Attribute], Taps]


def _last(b: PrimsBuilder, place: SSAValue, extent: int) -> SSAValue:
    """Not behind the last input."""
    return b.with_number("minimum", place, extent - 1)


def _nearest_at(offset: float) -> Method:
    def taps(b: PrimsBuilder, axis: Axis, element: Attribute) -> Taps:
        if axis.extent == axis.out:
            return [(b.iota(axis.out, i64), None)]
        number = b.convert(b.iota(axis.out, i64), f32)
        number = b.with_number("add", number, offset) if offset else number
        place = b("floor", b.with_number("mul", number, axis.ratio))
        return [(_last(b, b.convert(place, i64), axis.extent), None)]

    return taps


def source_place(b: PrimsBuilder, axis: Axis, element: Attribute, cubic: bool) -> SSAValue:
    """Where each output lies among the inputs."""
    index = b.convert(b.iota(axis.out, i64), element)
    if axis.corners:
        step = (axis.extent - 1) / (axis.out - 1) if axis.out > 1 else 0.0
        return b.with_number("mul", index, step)
    middle = b.with_number("mul", b.with_number("add", index, 0.5), axis.ratio)
    place = b.with_number("sub", middle, 0.5)
    return place if cubic else b.with_number("maximum", place, 0.0)


def _linear(b: PrimsBuilder, axis: Axis, element: Attribute) -> Taps:
    if axis.extent == axis.out and (axis.corners or axis.ratio == 1):
        return [(b.iota(axis.out, i64), None)]
    place = source_place(b, axis, element, cubic=False)
    low = _last(b, b.convert(b("floor", place), i64), axis.extent)
    high = _last(b, b.with_number("add", low, 1), axis.extent)
    upper = b("sub", place, b.convert(low, element))
    upper = b.with_number("minimum", upper, 1.0)
    return [(low, b.with_number("add", b("neg", upper), 1)), (high, upper)]


def cubic_weight(b: PrimsBuilder, distance: SSAValue, outer: bool, a: float) -> SSAValue:
    """Keys's kernel for distances up to 1, or (outer) from 1 to 2."""

    def polynomial(*coefficients: float) -> SSAValue:
        total = b.full(shape_of(distance), coefficients[0], element_of(distance))
        for coefficient in coefficients[1:]:
            total = b.with_number("add", b("mul", total, distance), coefficient)
        return total

    return polynomial(a, -5 * a, 8 * a, -4 * a) if outer else polynomial(a + 2, -(a + 3), 0, 1)


def cubic_weights(b: PrimsBuilder, fraction: SSAValue) -> list[SSAValue]:
    """Weights of the neighbours at -1, 0, 1 and 2 of a point at `fraction`."""
    rest = b.with_number("add", b("neg", fraction), 1)
    return [
        cubic_weight(b, b.with_number("add", fraction, 1), True, CUBIC),
        cubic_weight(b, fraction, False, CUBIC),
        cubic_weight(b, rest, False, CUBIC),
        cubic_weight(b, b.with_number("add", rest, 1), True, CUBIC),
    ]


def _cubic(b: PrimsBuilder, axis: Axis, element: Attribute) -> Taps:
    place = source_place(b, axis, element, cubic=True)
    whole = b("floor", place)
    weights = cubic_weights(b, b("sub", place, whole))
    first = b.convert(whole, i64)
    taps: Taps = []
    for offset, weight in zip((-1, 0, 1, 2), weights, strict=True):
        at = b.with_number("maximum", b.with_number("add", first, offset), 0)
        taps.append((_last(b, at, axis.extent), weight))
    return taps


METHODS: dict[str, Method] = {
    "upsample_nearest": _nearest_at(0),
    "_upsample_nearest_exact": _nearest_at(0.5),
    "upsample_linear": _linear,
    "upsample_bilinear": _linear,
    "upsample_trilinear": _linear,
    "upsample_bicubic": _cubic,
}
SMOOTH = [f"_upsample_{name}2d_aa" for name in ("bilinear", "bicubic", "lanczos")]


def _axes(op: SchemaOp, inputs: list[int], outputs: list[int]) -> list[Axis]:
    """The axes by their extents; a scale factor, if given, goes before the extents."""
    names = {argument.name for argument in op.schema.args}
    if "scale_factors" in names:
        scales = op.arg("scale_factors") or [None] * len(inputs)
    elif len(inputs) == 1:
        scales = [op.arg("scales")]
    else:
        scales = [op.arg(f"scales_{axis}") for axis in "dhw"[-len(inputs) :]]
    corners = bool(op.arg("align_corners")) if "align_corners" in names else False
    axes: list[Axis] = []
    for extent, out, scale in zip(inputs, outputs, scales, strict=True):
        ratio = 1 / scale if scale else extent / out
        axes.append(Axis(extent, out, ratio, corners))
    return axes


def _method(op: SchemaOp) -> Method:
    return METHODS[op.overload_name.partition(".")[0].replace("_backward", "")[:-2]]


@lowers(*NAMES, *(f"{name}.vec" for name in NAMES))
def upsample(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Sums of taps; repetition if the nearest neighbour is taken a whole number of times."""
    x: SSAValue = op.operands[0]
    result: Attribute = element_of(op.results[0])
    method = _method(op)
    axes = _axes(op, shape_of(x)[2:], shape_of(op.results[0])[2:])
    if "nearest" not in op.overload_name:
        if result == UI8 and len(axes) == 2:

            def taps_along(dim: int) -> SSAValue | None:
                axis = axes[dim - 2]
                same = axis.extent == axis.out
                return None if same else dense_weights(b, method(b, axis, f64), axis.extent)

            return resample_bytes(b, x, taps_along, range(2, 4))
        x = b.convert(x, accumulation_type(result))
        if not is_float(result):
            raise b.refuse(
                "interpolation of integers", "floats, u8 in 2 dims, or the nearest neighbour"
            )
    for dim, axis in reversed(list(enumerate(axes, 2))):
        even = axis.extent and axis.out % axis.extent == 0
        if "nearest" in op.overload_name and even and axis.ratio == axis.extent / axis.out:
            x = _repeated(b, x, dim, axis.out // axis.extent)
        else:
            x = _resampled(b, x, dim, method(b, axis, element_of(x)))
    return b.convert(x, result)


def _repeated(b: PrimsBuilder, x: SSAValue, dim: int, times: int) -> SSAValue:
    shape = shape_of(x)
    wide = [*shape[: dim + 1], times, *shape[dim + 1 :]]
    kept = [d for d in range(len(wide)) if d != dim + 1]
    x = b("broadcast_in_dim", x, wide, kept)
    return b.reshape(x, [*shape[:dim], shape[dim] * times, *shape[dim + 1 :]])


def _resampled(b: PrimsBuilder, x: SSAValue, dim: int, taps: Taps) -> SSAValue:
    total: SSAValue | None = None
    for place, weight in taps:
        part = b("take", x, place, dim)
        if weight is not None:
            part = b("mul", part, b.along(weight, shape_of(part), dim))
        total = part if total is None else b("add", total, part)
    assert total is not None
    return total


@lowers(*(f"{name}_backward" for name in NAMES))
def upsample_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Weighted gradients added at the taps."""
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    inputs = shape_of(op.results[0])[2:]
    method = _method(op)
    for dim, axis in enumerate(_axes(op, inputs, shape_of(grad)[2:]), 2):
        shape, element = shape_of(grad), element_of(grad)
        made = b.full([*shape[:dim], axis.extent, *shape[dim + 1 :]], 0, element)
        for place, weight in method(b, axis, element):
            part = grad if weight is None else b("mul", grad, b.along(weight, shape, dim))
            made = b("put", made, place, part, dim, "add")
        grad = made
    return b.convert(grad, result)


@lowers(*SMOOTH, *(f"{name}.vec" for name in SMOOTH))
def upsample_smooth(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Weighted sums of the inputs under the filter, along one axis after the other."""
    x: SSAValue = op.operands[0]
    result: Attribute = element_of(op.results[0])
    axes = _axes(op, shape_of(x)[2:], shape_of(op.results[0])[2:])
    if result == UI8:

        def weights_along(dim: int) -> SSAValue | None:
            axis = axes[dim - 2]
            same = axis.extent == axis.out
            return None if same else smooth_weights(b, axis, f64, _filter(op))

        return resample_bytes(b, x, weights_along, range(2, 4))
    if not is_float(result):
        raise b.refuse("antialiased interpolation of integers", "floats, or u8")
    x = b.convert(x, accumulation_type(result))
    for dim, axis in reversed(list(enumerate(axes, 2))):
        x = _filtered(b, x, dim, axis, _filter(op))
    return b.convert(x, result)


@lowers(*(f"{name}_backward" for name in SMOOTH))
def upsample_smooth_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Weighted gradients added where the filter was."""
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    axes = _axes(op, shape_of(op.results[0])[2:], shape_of(grad)[2:])
    for dim, axis in enumerate(axes, 2):
        grad = _spread_by_filter(b, grad, dim, axis, _filter(op))
    return b.convert(grad, result)


def _triangle(b: PrimsBuilder, distance: SSAValue) -> SSAValue:
    zero = b.full(shape_of(distance), 0, element_of(distance))
    near = b.with_number("lt", distance, 1.0)
    return b.where(near, b.with_number("add", b("neg", distance), 1), zero)


def _keys(b: PrimsBuilder, distance: SSAValue) -> SSAValue:
    zero = b.full(shape_of(distance), 0, element_of(distance))
    outer = cubic_weight(b, distance, True, SMOOTH_CUBIC)
    far = b.where(b.with_number("lt", distance, 2.0), outer, zero)
    near = b.with_number("lt", distance, 1.0)
    return b.where(near, cubic_weight(b, distance, False, SMOOTH_CUBIC), far)


def _lanczos(b: PrimsBuilder, distance: SSAValue) -> SSAValue:
    """sinc(d) sinc(d / 3) for distances below 3."""
    shape, element = shape_of(distance), element_of(distance)
    one = b.full(shape, 1, element)
    center = b.with_number("eq", distance, 0)
    angle = b.where(center, one, b.with_number("mul", distance, pi))
    third = b.with_number("div", angle, 3)
    product = b("mul", b("div", b("sin", angle), angle), b("div", b("sin", third), third))
    inside = b.with_number("lt", distance, 3.0)
    return b.where(center, one, b.where(inside, product, b.full(shape, 0, element)))


Filter = tuple[float, Callable[[PrimsBuilder, SSAValue], SSAValue]]
"""How far a filter reaches, and its weight at a distance."""

FILTERS: dict[str, Filter] = {
    "bilinear": (1.0, _triangle),
    "bicubic": (2.0, _keys),
    "lanczos": (3.0, _lanczos),
}


def _filter(op: SchemaOp) -> Filter:
    return FILTERS[op.overload_name.removeprefix("_upsample_").partition("2d")[0]]


def _step(axis: Axis) -> float:
    """From the place of one output to that of the next, in inputs."""
    if axis.corners:
        return (axis.extent - 1) / (axis.out - 1) if axis.out > 1 else 0.0
    return axis.ratio


def _window(b: PrimsBuilder, axis: Axis, element: Attribute, kind: Filter) -> list[SSAValue]:
    """(out,) each: the middle of the filter, its first input and the one behind its last."""
    reach = kind[0] * max(_step(axis), 1.0)
    number = b.convert(b.iota(axis.out, i64), element)
    center = b.with_number("mul", b.with_number("add", number, 0.5), _step(axis))
    low = b("trunc", b.with_number("add", b.with_number("sub", center, reach), 0.5))
    high = b("trunc", b.with_number("add", b.with_number("add", center, reach), 0.5))
    return [center, low, high]


def _weights_at(
    b: PrimsBuilder, axis: Axis, kind: Filter, place: SSAValue, window: list[SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """The filter over what one output stands for, at `place` (out, any); what it covers."""
    shape, element = shape_of(place), element_of(place)
    center, low, high = (b.along(edge, shape, 0) for edge in window)
    inside = b("bitwise_and", b("ge", place, low), b("lt", place, high))
    inside = b("bitwise_and", inside, b.with_number("lt", place, axis.extent))
    away = b.with_number("add", b("sub", place, center), 0.5)
    distance = b("abs", b.with_number("mul", away, 1 / max(_step(axis), 1.0)))
    weight = b.where(inside, kind[1](b, distance), b.full(shape, 0, element))
    total = b.keep_dims(b("sum", weight, [1]), shape, [1])
    return b("div", weight, total), inside


def smooth_weights(b: PrimsBuilder, axis: Axis, element: Attribute, kind: Filter) -> SSAValue:
    """(out, extent): the filter's weights for all inputs, 0 outside."""
    place = b.convert(b.iota(axis.extent, i64), element)
    place = b.along(place, [axis.out, axis.extent], 1)
    return _weights_at(b, axis, kind, place, _window(b, axis, element, kind))[0]


def _filter_taps(
    b: PrimsBuilder, axis: Axis, element: Attribute, kind: Filter
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """(out, taps) each: inputs, weights, and which of them the filter covers.

    What it does not cover is left out, not multiplied by 0: that would make NaN of infinities.
    """
    taps = min(axis.extent, 2 * ceil(kind[0] * max(_step(axis), 1.0)) + 1)
    window = _window(b, axis, element, kind)
    first = b.with_number("maximum", window[1], 0.0)
    shape = [axis.out, taps]
    place = b.along(b.convert(b.iota(taps, i64), element), shape, 1)
    place = b("add", place, b.along(first, shape, 0))
    weights, inside = _weights_at(b, axis, kind, place, window)
    return _last(b, b.convert(place, i64), axis.extent), weights, inside


def _filtered(b: PrimsBuilder, x: SSAValue, dim: int, axis: Axis, kind: Filter) -> SSAValue:
    """The weighted sums of inputs along `dim`; torch leaves an axis alone that keeps its extent."""
    if axis.extent == axis.out:
        return x
    place, weights, inside = _filter_taps(b, axis, element_of(x), kind)
    outputs, taps = shape_of(place)
    shape = shape_of(x)
    shape = [*shape[:dim], outputs, taps, *shape[dim + 1 :]]
    part = b.reshape(b("take", x, b.reshape(place, [outputs * taps]), dim), shape)
    return b("sum", _masked_product(b, part, weights, inside, dim), [dim + 1])


def _masked_product(
    b: PrimsBuilder, part: SSAValue, weights: SSAValue, inside: SSAValue, dim: int
) -> SSAValue:
    """Weighted where inside, elsewhere 0; weights lie along `dim` and the next dimension."""
    shape = shape_of(part)
    along = [dim, dim + 1]
    product = b("mul", part, b("broadcast_in_dim", weights, shape, along))
    covered = b("broadcast_in_dim", inside, shape, along)
    return b.where(covered, product, b.full(shape, 0, element_of(part)))


def _spread_by_filter(
    b: PrimsBuilder, grad: SSAValue, dim: int, axis: Axis, kind: Filter
) -> SSAValue:
    """The gradient of `_filtered`; torch's takes the filter along every axis."""
    element = element_of(grad)
    place, weights, inside = _filter_taps(b, axis, element, kind)
    outputs, taps = shape_of(place)
    before, after = shape_of(grad)[:dim], shape_of(grad)[dim + 1 :]
    kept = [d if d <= dim else d + 1 for d in range(len(shape_of(grad)))]
    part = b("broadcast_in_dim", grad, [*before, outputs, taps, *after], kept)
    part = _masked_product(b, part, weights, inside, dim)
    made = b.full([*before, axis.extent, *after], 0, element)
    part = b.reshape(part, [*before, outputs * taps, *after])
    return b("put", made, b.reshape(place, [outputs * taps]), part, dim, "add")
