"""Sampling at computed places: grid_sampler."""

from __future__ import annotations

from itertools import product
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.resampling import cubic_weights
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, is_float, shape_of

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


@lowers("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Weighted sums of the neighbours of each place."""
    x, grid = op.arg("input"), op.arg("grid")
    result: Attribute = element_of(op.results[0])
    compute = accumulation_type(result)
    if not is_float(compute):
        raise b.refuse("sampling of integers", "floats")
    x, grid = b.convert(x, compute), b.convert(grid, compute)
    batch, channels, *extents = shape_of(x)
    dims, points = len(extents), prod(shape_of(grid)[1:-1])
    mode, border, corners = (
        op.arg(n) for n in ("interpolation_mode", "padding_mode", "align_corners")
    )
    flat = b.reshape(grid, [batch, points, dims])
    # The grid names the last dimension first.
    places = [
        unscaled(
            b, b.reshape(b.slice(flat, 2, dims - 1 - p, dims - p), [batch, points]), n, corners
        )
        for p, n in enumerate(extents)
    ]
    planes = b.reshape(x, [batch, channels, prod(extents)])
    axes = [
        _taps(b, place, extent, mode, border, corners)
        for place, extent in zip(places, extents, strict=True)
    ]
    total: SSAValue | None = None
    for taps in product(*axes):
        part = _weighted(b, planes, list(taps), extents)
        total = part if total is None else b("add", total, part)
    assert total is not None
    return b.convert(b.reshape(total, shape_of(op.results[0])), result)


def unscaled(b: PrimsBuilder, x: SSAValue, extent: int, corners: bool) -> SSAValue:
    """From [-1, 1] to places among the elements."""
    x = b.with_number("add", x, 1)
    if corners:
        return b.with_number("mul", x, (extent - 1) / 2)
    return b.with_number("div", b.with_number("sub", b.with_number("mul", x, extent), 1), 2)


def bordered(b: PrimsBuilder, x: SSAValue, extent: int, border: int, corners: bool) -> SSAValue:
    """A place brought inside as the padding mode says; at a border, NaN is the first element's."""
    if border == ZEROS:
        return x
    if border == REFLECTION:
        x = _reflected(b, x, 0.0 if corners else -0.5, extent - 1 if corners else extent)
    x = b.where(b("eq", x, x), x, b.full(shape_of(x), 0, element_of(x)))
    return b.with_number("minimum", b.with_number("maximum", x, 0), extent - 1)


def _reflected(b: PrimsBuilder, x: SSAValue, low: float, span: float) -> SSAValue:
    """Mirrored at `low` and at `low + span` until it lies between."""
    if span == 0:
        return b.full(shape_of(x), 0, element_of(x))
    away = b("abs", b.with_number("sub", x, low))
    folds = b("floor", b.with_number("div", away, span))
    rest = b("sub", away, b.with_number("mul", folds, span))
    half = b("floor", b.with_number("mul", folds, 0.5))
    odd = b("ne", b.with_number("mul", half, 2), folds)
    turned = b.with_number("add", b("neg", rest), span + low)
    return b.where(odd, turned, b.with_number("add", rest, low))


Tap = tuple[SSAValue, SSAValue, SSAValue | None]
"""Place, whether it is inside, weight."""


def _taps(
    b: PrimsBuilder, place: SSAValue, extent: int, mode: int, border: int, corners: bool
) -> list[Tap]:
    if mode == CUBIC:
        whole = b("floor", place)
        weights = cubic_weights(b, b("sub", place, whole))
        taps: list[Tap] = []
        for offset, weight in zip((-1, 0, 1, 2), weights, strict=True):
            at = bordered(b, b.with_number("add", whole, offset), extent, border, corners)
            taps.append((*checked(b, at, extent), weight))
        return taps
    place = bordered(b, place, extent, border, corners)
    if mode == NEAREST:
        return [(*checked(b, b("round", place), extent), None)]
    whole = b("floor", place)
    upper = b("sub", place, whole)
    lower = b.with_number("add", b("neg", upper), 1)
    following = b.with_number("add", whole, 1)
    return [(*checked(b, whole, extent), lower), (*checked(b, following, extent), upper)]


def checked(b: PrimsBuilder, at: SSAValue, extent: int) -> tuple[SSAValue, SSAValue]:
    """As an index that is always inside, and whether it was (NaN is not)."""
    above, below = b.with_number("ge", at, 0), b.with_number("le", at, extent - 1)
    inside = b("bitwise_and", above, below)
    safe = b.where(inside, at, b.full(shape_of(at), 0, element_of(at)))
    return b.convert(safe, i64), inside


def _weighted(b: PrimsBuilder, planes: SSAValue, taps: list[Tap], extents: list[int]) -> SSAValue:
    batch, channels, _ = shape_of(planes)
    index, inside, weight = taps[0]
    for (following, also, factor), extent in zip(taps[1:], extents[1:], strict=True):
        index = b("add", b.with_number("mul", index, extent), following)
        inside = b("bitwise_and", inside, also)
        if weight is not None and factor is not None:
            weight = b("mul", weight, factor)
    wide = [batch, channels, shape_of(index)[1]]
    index, inside = (b("broadcast_in_dim", v, wide, [0, 2]) for v in (index, inside))
    value = b("gather", planes, index, 2)
    if weight is not None:
        value = b("mul", value, b("broadcast_in_dim", weight, wide, [0, 2]))
    return b.where(inside, value, b.full(wide, 0, element_of(planes)))
