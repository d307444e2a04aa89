"""Interpolation of u8, which torch does with integer weights of 15 bits, axis after axis.

Along each axis the weights are multiplied by the largest power of two that keeps them below 2^15
and rounded; a sum of products is divided by that power, rounded and clamped to a byte
(aten/src/ATen/native/cpu/UpSampleKernel.cpp). All of it is exact in f64. An axis that keeps its
size stays as it is, whatever its scale.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.tensor_types import element_of, shape_of

_LARGEST = 1 << 15
_MOST_BITS = 22
"""More bits than this torch does not try."""


def resample_bytes(
    b: PrimsBuilder,
    x: SSAValue,
    weights: Callable[[int], SSAValue | None],
    dims: range,
) -> SSAValue:
    """x, a tensor of u8, with the weights (out, extent) in f64 of each of `dims`, the last first.

    Axes without weights stay as they are.
    """
    element, rank = element_of(x), len(shape_of(x))
    value = b.convert(x, f64)
    for dim in reversed(dims):
        matrix = weights(dim)
        if matrix is None:
            continue
        scale = _scale(b, matrix)
        steps = _rounded(b, matrix, scale)
        made = b("contract", value, steps, [], [], [dim], [1])
        made = b.transpose(made, [*range(dim), rank - 1, *range(dim, rank - 1)])
        share = b("div", made, b.broadcast(scale, shape_of(made)))
        whole = b("floor", b.with_number("add", share, 0.5))
        value = b.with_number("minimum", b.with_number("maximum", whole, 0.0), 255.0)
    return b.convert(value, element)


def dense_weights(
    b: PrimsBuilder, taps: list[tuple[SSAValue, SSAValue | None]], extent: int
) -> SSAValue | None:
    """The weights of all inputs, from places and weights; None if each output is one input."""
    total: SSAValue | None = None
    for place, weight in taps:
        if weight is None:
            return None
        shape = [shape_of(place)[0], extent]
        there = b("eq", b.along(place, shape, 0), b.along(b.iota(extent, i64), shape, 1))
        part = b.where(there, b.along(weight, shape, 0), b.full(shape, 0, f64))
        total = part if total is None else b("add", total, part)
    return total


def _scale(b: PrimsBuilder, weights: SSAValue) -> SSAValue:
    """The power of two, as a 0-d tensor: 2 for each number of bits that is not too many."""
    most = b.broadcast(b("amax", weights, [0, 1]), [_MOST_BITS])
    bits = b.convert(b.iota(_MOST_BITS, i64, 1), f64)
    power = b("exp2", bits)
    largest = b("floor", b.with_number("add", b("mul", most, power), 0.5))
    fits = b.with_number("lt", largest, float(_LARGEST))
    two, one = (b.full([_MOST_BITS], value, f64) for value in (2, 1))
    return b("prod", b.where(fits, two, one), [0])


def _rounded(b: PrimsBuilder, weights: SSAValue, scale: SSAValue) -> SSAValue:
    """Half goes away from zero."""
    scaled = b("mul", weights, b.broadcast(scale, shape_of(weights)))
    size = b("floor", b.with_number("add", b("abs", scaled), 0.5))
    negative = b.with_number("lt", scaled, 0.0)
    return b.where(negative, b("neg", size), size)
