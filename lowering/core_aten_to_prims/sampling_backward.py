"""The gradients of grid_sampler: of the input by scatters, of the grid by slopes of the weights."""

from __future__ import annotations

from itertools import product
from math import prod

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.resampling import cubic_weights
from lamina.lowering.core_aten_to_prims.sampling import (
    CUBIC,
    NEAREST,
    REFLECTION,
    ZEROS,
    bordered,
    checked,
    unscaled,
)
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.resamplings import CUBIC as KEYS
from lamina.lowering.tensor_types import element_of, shape_of


@record
class Tap:
    """A neighbour along one axis; no weight means 1, and no slope 0."""

    index: SSAValue
    inside: SSAValue
    weight: SSAValue | None = None
    slope: SSAValue | None = None


@lowers("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Each product of taps, one of each axis, adds to both gradients."""
    result: Attribute = element_of(op.arg("input"))
    compute = accumulation_type(result)
    grad, x, grid = (b.convert(op.arg(n), compute) for n in ("grad_output", "input", "grid"))
    batch, channels, *extents = shape_of(x)
    dims, points = len(extents), prod(shape_of(grid)[1:-1])
    flat = b.reshape(grid, [batch, points, dims])
    axes: list[list[Tap]] = []
    for axis, extent in enumerate(extents):
        # The grid names the last dimension first.
        column = b.slice(flat, 2, dims - 1 - axis, dims - axis)
        axes.append(_taps(op, b, b.reshape(column, [batch, points]), extent))
    grad = b.reshape(grad, [batch, channels, points])
    planes = b.reshape(x, [batch, channels, prod(extents)])
    corners = [_Corner(b, list(taps), extents) for taps in product(*axes)]
    of_input = of_grid = None
    if op.arg("output_mask")[0]:
        of_input = b.convert(b.reshape(_of_input(b, corners, grad, planes), shape_of(x)), result)
    if op.arg("output_mask")[1]:
        slopes = _of_grid(b, corners, grad, planes)
        of_grid = b.convert(b.reshape(slopes, shape_of(grid)), element_of(op.arg("grid")))
    return [of_input, of_grid]


class _Corner:
    """One tap of each axis: the flat index, whether it is inside, the weights."""

    def __init__(self, b: PrimsBuilder, taps: list[Tap], extents: list[int]) -> None:
        self.taps = taps
        self.index, self.inside = taps[0].index, taps[0].inside
        for tap, extent in zip(taps[1:], extents[1:], strict=True):
            self.index = b("add", b.with_number("mul", self.index, extent), tap.index)
            self.inside = b("bitwise_and", self.inside, tap.inside)

    def weight(self, b: PrimsBuilder, sloped: int | None = None) -> SSAValue | None:
        """The product of the weights; of one axis the slope instead."""
        factors = [tap.slope if d == sloped else tap.weight for d, tap in enumerate(self.taps)]
        total: SSAValue | None = None
        for factor in factors:
            if factor is not None:
                total = factor if total is None else b("mul", total, factor)
        return total


def _wide(b: PrimsBuilder, x: SSAValue, channels: int) -> SSAValue:
    batch, points = shape_of(x)
    return b("broadcast_in_dim", x, [batch, channels, points], [0, 2])


def _of_input(
    b: PrimsBuilder, corners: list[_Corner], grad: SSAValue, planes: SSAValue
) -> SSAValue:
    channels = shape_of(planes)[1]
    zero = b.full(shape_of(grad), 0, element_of(grad))
    values: list[SSAValue] = []
    for corner in corners:
        weight = corner.weight(b)
        value = grad if weight is None else b("mul", grad, _wide(b, weight, channels))
        values.append(b.where(_wide(b, corner.inside, channels), value, zero))
    indices = [_wide(b, corner.index, channels) for corner in corners]
    joined = (v[0] if len(v) == 1 else b("cat", v, 2) for v in (indices, values))
    return b("scatter", b.full(shape_of(planes), 0, element_of(planes)), *joined, 2, "add")


def _of_grid(b: PrimsBuilder, corners: list[_Corner], grad: SSAValue, planes: SSAValue) -> SSAValue:
    batch, channels, points = shape_of(grad)
    dims = len(corners[0].taps)
    totals: list[SSAValue] = [b.full([batch, points], 0, element_of(grad))] * dims
    for corner in corners:
        if corner.taps[0].slope is None:
            continue
        seen = b("gather", planes, _wide(b, corner.index, channels), 2)
        met = b.reduce("sum", b("mul", seen, grad), [1])
        met = b.where(corner.inside, met, b.full([batch, points], 0, element_of(grad)))
        for axis in range(dims):
            slope = corner.weight(b, axis)
            assert slope is not None
            totals[axis] = b("add", totals[axis], b("mul", met, slope))
    columns = [b.reshape(total, [batch, points, 1]) for total in reversed(totals)]
    return b("cat", columns, 2)


def _taps(op: SchemaOp, b: PrimsBuilder, x: SSAValue, extent: int) -> list[Tap]:
    """The neighbours of a coordinate in [-1, 1], their weights, and slopes by the coordinate."""
    mode, border, corners = (
        op.arg(n) for n in ("interpolation_mode", "padding_mode", "align_corners")
    )
    place = unscaled(b, x, extent, corners)
    scale = (extent - 1) / 2 if corners else extent / 2
    if mode == CUBIC:
        return _cubic(b, place, scale, extent, border, corners)
    inner = bordered(b, place, extent, border, corners)
    if mode == NEAREST:
        return [Tap(*checked(b, b("round", inner), extent))]
    whole = b("floor", inner)
    upper = b("sub", inner, whole)
    lower = b.with_number("add", b("neg", upper), 1)
    rise = b.with_number("mul", _direction(b, place, extent, border, corners), scale)
    following = b.with_number("add", whole, 1)
    return [
        Tap(*checked(b, whole, extent), lower, b("neg", rise)),
        Tap(*checked(b, following, extent), upper, rise),
    ]


def _cubic(
    b: PrimsBuilder, place: SSAValue, scale: float, extent: int, border: int, corners: bool
) -> list[Tap]:
    """Four taps, each brought inside on its own; the border does not change the slopes."""
    whole = b("floor", place)
    fraction = b("sub", place, whole)
    taps: list[Tap] = []
    weights = cubic_weights(b, fraction)
    for offset, weight in zip((-1, 0, 1, 2), weights, strict=True):
        at = bordered(b, b.with_number("add", whole, offset), extent, border, corners)
        slope = b.with_number("mul", _cubic_slope(b, fraction, offset), scale)
        taps.append(Tap(*checked(b, at, extent), weight, slope))
    return taps


def _cubic_slope(b: PrimsBuilder, fraction: SSAValue, offset: int) -> SSAValue:
    """The derivative of Keys's weight of the neighbour at `offset` by the fraction."""
    away = b.with_number("add", fraction, -offset)  # rises with the fraction
    size = b("abs", away)
    if offset in (0, 1):
        inner = b.with_number("add", b.with_number("mul", size, 3 * (KEYS + 2)), -2 * (KEYS + 3))
        steep = b("mul", inner, size)
    else:
        inner = b.with_number("add", b.with_number("mul", size, 3 * KEYS), -10 * KEYS)
        steep = b.with_number("add", b("mul", inner, size), 8 * KEYS)
    return steep if offset <= 0 else b("neg", steep)


def _direction(
    b: PrimsBuilder, place: SSAValue, extent: int, border: int, corners: bool
) -> SSAValue:
    """How the place inside follows the place: 1, -1 where mirrored, 0 where held at the border."""
    one = b.full(shape_of(place), 1, element_of(place))
    if border == ZEROS:
        return one
    direction, inner = one, place
    if border == REFLECTION:
        low, span = (0.0, extent - 1) if corners else (-0.5, extent)
        if span == 0:
            return b.full(shape_of(place), 0, element_of(place))
        away = b.with_number("sub", place, low)
        folds = b("floor", b.with_number("div", b("abs", away), span))
        half = b("floor", b.with_number("mul", folds, 0.5))
        odd = b("ne", b.with_number("mul", half, 2), folds)
        turned = b("ne", odd, b.with_number("lt", away, 0))
        direction = b.where(turned, b("neg", one), one)
        inner = _unclipped(b, away, folds, odd, low, span)
    above, below = b.with_number("gt", inner, 0), b.with_number("lt", inner, extent - 1)
    free = b("bitwise_and", above, below)
    return b.where(free, direction, b.full(shape_of(place), 0, element_of(place)))


def _unclipped(
    b: PrimsBuilder, away: SSAValue, folds: SSAValue, odd: SSAValue, low: float, span: float
) -> SSAValue:
    rest = b("sub", b("abs", away), b.with_number("mul", folds, span))
    turned = b.with_number("add", b("neg", rest), span + low)
    return b.where(odd, turned, b.with_number("add", rest, low))
