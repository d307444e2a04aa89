"""Padded dimensions joined and split: elements are read from where they stood."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number


def regrouped(tensor: Bounded, sizes: Sequence[Number], b: BoundBuilder) -> Bounded:
    """The tensor with these bounded sizes, whose product is the number of its elements.

    Row-major order counts elements only, so that those behind padding move. Trailing dimensions
    that stay are read as they are, with their padding.
    """
    own = [b.size(tensor, dim) for dim in range(tensor.rank)]
    kept = _kept_behind(own, sizes)
    before, after = own[: len(own) - kept], list(sizes[: len(sizes) - kept])
    extents = [size.constant if size.constant is not None else size.most or 0 for size in after]
    place = _source(_ordinal(after, extents, b), before, tensor.shape, b)
    inner = tensor.shape[len(before) :]
    rows = b.reshape(tensor.value, [prod(tensor.shape[: len(before)]), *inner])
    made = b("index_select.default", rows, 0, b.reshape(place, [prod(extents)]))
    return b.bounded(b.reshape(made, [*extents, *inner]), sizes)


def _kept_behind(own: Sequence[Number], sizes: Sequence[Number]) -> int:
    """How many trailing dimensions are equal: the same constant, or the same count."""
    pairs = zip(reversed(own), reversed(sizes), strict=False)
    return len(list(takewhile(lambda pair: _same(*pair), pairs)))


def _same(one: Number, other: Number) -> bool:
    if one.constant is not None or other.constant is not None:
        return one.constant == other.constant
    return one.value is other.value


def _ordinal(sizes: Sequence[Number], extents: Sequence[int], b: BoundBuilder) -> SSAValue:
    """Of each position of the result, how many elements stand in front of it."""
    found = b.full([1] * len(extents), 0, i64)
    for dim, extent in enumerate(extents):
        shape = [extent if other == dim else 1 for other in range(len(extents))]
        coordinate = b.reshape(b.iota(extent), shape)
        step = b.as_tensor(b.product(*sizes[dim + 1 :]))
        found = b("add.Tensor", found, b("mul.Tensor", coordinate, step))
    return b.expand(found, extents)


def _source(
    ordinal: SSAValue, sizes: Sequence[Number], shape: Sequence[int], b: BoundBuilder
) -> SSAValue:
    """Where an element stands among the padded ones; in bounds for positions of padding too."""
    if not sizes:
        return b("mul.Scalar", ordinal, 0)
    rest, place = ordinal, None
    for dim in range(len(sizes) - 1, -1, -1):
        coordinate = rest
        if dim:  # positions are no less than 0, so that quotients are cut
            count = b("clamp.default", b.as_tensor(sizes[dim]), min=1)
            rest = b("div.Tensor_mode", rest, count, rounding_mode="trunc")
            coordinate = b("sub.Tensor", coordinate, b("mul.Tensor", rest, count))
        padded = b("mul.Scalar", coordinate, prod(shape[dim + 1 : len(sizes)]))
        place = padded if place is None else b("add.Tensor", place, padded)
    assert place is not None
    return b("clamp.default", place, min=0, max=max(prod(shape[: len(sizes)]) - 1, 0))
