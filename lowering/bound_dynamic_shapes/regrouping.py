"""Padded dimensions joined and split: elements are read from where they stood."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_runs import runs, split_in_place
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Number
from lamina.lowering.tensor_types import shape_of


def regrouped(tensor: Bounded, sizes: Sequence[Number], b: BoundBuilder) -> Bounded:
    """The tensor with these bounded sizes, whose product is the number of its elements.

    Row-major order counts elements only, so that those behind padding move, but not beyond the
    run of dimensions that holds as many elements before and after: the others are read as they
    are, with their padding, and places are computed for the run alone.
    """
    own = [b.size(tensor, dim) for dim in range(tensor.rank)]
    value = tensor.value
    found = runs(own, sizes) or [(range(len(own)), range(len(sizes)))]
    for run in reversed(found):
        taken, made = run
        before, behind = shape_of(value)[: taken.start], shape_of(value)[taken.stop :]
        extents = split_in_place(tensor, run, sizes)
        if extents is not None:
            value = b.reshape(value, [*before, *extents, *behind])
            continue
        kept = kept_behind(own[taken.start : taken.stop], sizes[made.start : made.stop])
        old, new = own[taken.start : taken.stop - kept], sizes[made.start : made.stop - kept]
        room = tensor.shape[taken.start : taken.stop - kept]
        inner = tensor.shape[taken.stop - kept : taken.stop]
        extents = [size.constant if size.constant is not None else size.most or 0 for size in new]
        place = b.reshape(_source(_ordinal(new, extents, b), old, room, b), [prod(extents)])
        rows = b.reshape(value, [*before, prod(room), *inner, *behind])
        value = b("index_select.default", rows, len(before), place)
        value = b.reshape(value, [*before, *extents, *inner, *behind])
    return b.bounded(value, sizes)


def kept_behind(own: Sequence[Number], sizes: Sequence[Number]) -> int:
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
        if extent == 1:
            continue
        shape = [extent if other == dim else 1 for other in range(len(extents))]
        coordinate = b.reshape(b.iota(extent), shape)
        step = b.product(*sizes[dim + 1 :])
        if step.constant != 1:
            coordinate = b("mul.Tensor", coordinate, b.as_tensor(step))
        found = b("add.Tensor", found, coordinate)
    return b.expand(found, extents)


def _source(
    ordinal: SSAValue, sizes: Sequence[Number], shape: Sequence[int], b: BoundBuilder
) -> SSAValue:
    """Where an element stands among the padded ones; for positions of padding it is one as well.

    Each coordinate is seen to be below its size, by which `split-places` and `limit-reads` know
    how much of the tensor is read.
    """
    place: SSAValue | None = None
    coordinates = _coordinates(ordinal, sizes, b)
    for dim, (coordinate, size) in enumerate(zip(coordinates, sizes, strict=True)):
        if dim == 0:
            last = b("sub.Scalar", b.as_tensor(size), 1)
            coordinate = b("minimum.default", coordinate, last)
        if shape[dim] != 1:
            step = prod(shape[dim + 1 : len(sizes)])
            inside = b("clamp.default", coordinate, min=0)
            padded = inside if step == 1 else b("mul.Scalar", inside, step)
            place = padded if place is None else b("add.Tensor", place, padded)
    if place is None or 0 in shape:
        return b("mul.Scalar", ordinal, 0)
    return place


def _coordinates(ordinal: SSAValue, sizes: Sequence[Number], b: BoundBuilder) -> list[SSAValue]:
    """The index in each dimension of the element that so many stand in front of."""
    found: list[SSAValue] = []
    rest = ordinal
    for size in reversed(sizes[1:]):  # positions are no less than 0, so that quotients are cut
        if size.constant is not None:
            number = max(size.constant, 1)
            quotient = b("div.Scalar_mode", rest, number, rounding_mode="trunc")
            found.append(b("sub.Tensor", rest, b("mul.Scalar", quotient, number)))
        else:
            count = b("clamp.default", b.as_tensor(size), min=1)
            quotient = b("div.Tensor_mode", rest, count, rounding_mode="trunc")
            found.append(b("sub.Tensor", rest, b("mul.Tensor", quotient, count)))
        rest = quotient
    return [rest, *reversed(found)] if sizes else []


def taken_in_order(tensor: Bounded, kept: int, ordinals: Bounded, b: BoundBuilder) -> SSAValue:
    """What stands at places in row-major order, which counts elements only.

    Elements are rows of the last `kept` dimensions, with their padding, behind the dimensions of
    `ordinals`. Places that are no less than all elements take another one.
    """
    lead = tensor.rank - kept
    starts = [0, *(dim for dim in tensor.dynamic_dims if 0 < dim < lead)]
    groups = [range(start, end) for start, end in pairwise([*starts, lead])]
    counts = [b.elements(tensor, dims) for dims in groups]
    extents = [prod(tensor.shape[dim] for dim in dims) for dims in groups]
    rows = b.reshape(tensor.value, [prod(extents), *tensor.shape[lead:]])
    place: SSAValue | None = None
    coordinates = _coordinates(ordinals.value, counts, b)
    for dim, (coordinate, count) in enumerate(zip(coordinates, counts, strict=True)):
        last = b("sub.Scalar", b.as_tensor(count), 1)
        inside = b("clamp.default", b("minimum.default", coordinate, last), min=0)
        step = prod(extents[dim + 1 :])
        padded = inside if step == 1 else b("mul.Scalar", inside, step)
        place = padded if place is None else b("add.Tensor", place, padded)
    assert place is not None
    return b("index.Tensor", rows, [b.filled(Bounded(place, ordinals.sizes), 0)])


def taken_along(
    tensor: Bounded, starts: SSAValue, steps: SSAValue, sizes: Sequence[Count], b: BoundBuilder
) -> SSAValue:
    """What stands at places in row-major order: of each row `steps` behind one of `starts`.

    Steps are less than a row of the tensor has elements, so that all are in two rows of it, which
    only `starts` tell: divisions are made for these. `sizes` are those of the result.
    """
    *lead, width = (b.size(tensor, dim) for dim in range(tensor.rank))
    room = tensor.shape[-1]
    length = b("clamp.default", b.as_tensor(width), min=1)
    row = b("div.Tensor_mode", starts, length, rounding_mode="trunc")
    column = b("sub.Tensor", starts, b("mul.Tensor", row, length))
    rank = len(sizes) - 1

    def of_row(number: SSAValue) -> SSAValue:
        place = b("mul.Scalar", _source(number, lead, tensor.shape[:-1], b), room)
        return b("unsqueeze.default", place, rank)

    here, next_row = of_row(row), of_row(b("add.Scalar", row, 1))
    at = b("add.Tensor", b("unsqueeze.default", column, rank), steps)
    behind = b("sub.Tensor", at, length)
    within = b("lt.Scalar", behind, 0)
    place = b.where(within, b("add.Tensor", here, at), b("add.Tensor", next_row, behind))
    flat = b.reshape(tensor.value, [prod(tensor.shape)])
    return b("index.Tensor", flat, [b.filled(Bounded(place, tuple(sizes)), 0)])
