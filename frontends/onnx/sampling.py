"""Images read between their elements: regions of interest, deformable convolutions."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from lamina.frontends.onnx.convolution import split_pads
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, element_of

Corner = tuple[Value, Value]
"""Along one axis, an element beside each place, and its share of what is read there."""


def _corners(n: Node, place: Value, last: int) -> tuple[Value, list[Corner]]:
    """The element before each place, as a float, and that one and the next with their shares."""
    floor = n.op("floor.default", place)
    behind = n.op("sub.Tensor", place, floor)
    low = n.cast(floor, i64)
    corners = [(low, n.op("rsub.Scalar", behind, 1.0)), (n.op("add.Scalar", low, 1), behind)]
    return floor, [(n.op("clamp.default", at, 0, last), share) for at, share in corners]


def _reads(
    n: Node, image: Value, first: Value, width: int, rows: list[Corner], columns: list[Corner]
) -> list[Value]:
    """What each pair of a row and a column has a share of: [place, channel], times the share.

    `image` is [pixel, channel], and `first` the pixel at which that of a place begins.
    """
    found: list[Value] = []
    for row, row_share in rows:
        line = n.op("add.Tensor", first, n.op("mul.Scalar", row, width))
        for column, column_share in columns:
            pixel = n.reshape(n.op("add.Tensor", line, column), [-1])
            share = n.reshape(n.op("mul.Tensor", row_share, column_share), [-1, 1])
            read = n.op("index_select.default", image, 0, pixel)
            found.append(n.op("mul.Tensor", read, share))
    return found


def _folded(n: Node, name: str, values: list[Value]) -> Value:
    value = values[0]
    for other in values[1:]:
        value = n.op(name, value, other)
    return value


@imports("RoiAlign")
def roi_align(n: Node) -> Value:
    """Means or maxima of samples in the bins of each region: [region, channel, row, column]."""
    samples = int(n.attr("sampling_ratio", 0))
    if samples < 1:
        raise n.refuse("as many samples as a region is large", "a sampling_ratio of 1 or more")
    _, channels, height, width = n.shape()
    regions = n.shape(1)[0]
    bins = int(n.attr("output_height", 1)), int(n.attr("output_width", 1))
    rows = _samples(n, 1, [regions, bins[0] * samples, 1], height)
    columns = _samples(n, 0, [regions, 1, bins[1] * samples], width)
    image = n.reshape(n.op("permute.default", n[0], [0, 2, 3, 1]), [-1, channels])
    first = n.reshape(n.op("mul.Scalar", n.cast(n[2], i64), height * width), [regions, 1, 1])
    parts = _reads(n, image, first, width, rows, columns)
    largest = n.attr("mode", "avg") == "max"
    value = _folded(n, "maximum.default" if largest else "add.Tensor", parts)
    value = n.reshape(value, [regions, bins[0], samples, bins[1], samples, channels])
    value = n.op("amax.default" if largest else "mean.dim", value, [2, 4], False)
    return n.op("permute.default", value, [0, 3, 1, 2])


def _samples(n: Node, axis: int, shape: list[int], size: int) -> list[Corner]:
    """Of samples of all regions along one axis, in a shape; none where one lies outside."""
    count = prod(shape[1:])
    mode = n.attr("coordinate_transformation_mode", "half_pixel")
    half = n.version >= 16 and mode != "output_half_pixel"
    ends = n.op("mul.Scalar", n[1], float(n.attr("spatial_scale", 1.0)))
    if half:
        ends = n.op("sub.Scalar", ends, 0.5)
    start, end = (n.op("slice.Tensor", ends, 1, axis + i, axis + i + 1) for i in (0, 2))
    length = n.op("sub.Tensor", end, start)
    if not half:  # a region has one element at least
        length = n.op("clamp.default", length, 1.0)
    parts = (np.arange(count)[None] + 0.5) / count
    way = n.op("mul.Tensor", length, n.constant(parts, element_of(length)))
    place = n.op("add.Tensor", start, way)
    below, above = n.op("lt.Scalar", place, -1.0), n.op("gt.Scalar", place, float(size))
    outside = n.op("logical_or.default", below, above)
    _, corners = _corners(n, n.op("clamp.default", place, 0.0, float(size - 1)), size - 1)
    zero = n.scalar(0.0, place)
    inside = [(at, n.op("where.self", outside, zero, share)) for at, share in corners]
    return [(n.reshape(at, shape), n.reshape(share, shape)) for at, share in inside]


@imports("DeformConv")
def deformable_convolution(n: Node) -> Value:
    """A convolution whose elements are read at places that are moved by offsets, zero outside."""
    batch, channels, *sizes = n.shape()
    if len(sizes) != 2:
        raise n.refuse("deformable convolutions of other than images")
    made, _, *window = n.shape(1)
    groups, moved = int(n.attr("group", 1)), int(n.attr("offset_group", 1))
    out, taps, images = list(n.shape(2)[2:]), prod(window), batch * moved
    rows, columns = (_moved(n, axis, window, out, images) for axis in range(2))
    image = n.reshape(n[0], [images, channels // moved, *sizes])
    image = n.reshape(n.op("permute.default", image, [0, 2, 3, 1]), [-1, channels // moved])
    first = n.constant((np.arange(images) * prod(sizes))[:, None, None, None])
    read = _folded(n, "add.Tensor", _reads(n, image, first, sizes[1], rows, columns))
    places = taps * prod(out)
    read = n.op("permute.default", n.reshape(read, [images, places, -1]), [0, 2, 1])
    if n.get(4) is not None:
        read = n.op("mul.Tensor", read, n.reshape(n[4], [images, 1, places]))
    terms = channels // groups * taps
    read = n.reshape(read, [batch, groups, terms, prod(out)])
    weight = n.reshape(n[1], [1, groups, made // groups, terms])
    value = n.reshape(n.op("matmul.default", weight, read), [batch, made, *out])
    if n.get(3) is None:
        return value
    return n.op("add.Tensor", value, n.reshape(n[3], [1, made, 1, 1]))


def _moved(n: Node, axis: int, window: list[int], out: list[int], images: int) -> list[Corner]:
    """Along one axis, of all elements of windows: [image, tap, row, column]."""
    ones = [1, 1]
    stride, dilation = n.ints("strides") or ones, n.ints("dilations") or ones
    size = n.shape()[2 + axis]
    low, _ = split_pads(n, list(n.shape()[2:]), window, stride, dilation)
    begin = np.arange(out[axis]) * stride[axis] - low[axis]
    step = np.arange(window[axis]) * dilation[axis]
    still = begin.reshape([1, 1, -1, 1] if axis == 0 else [1, 1, 1, -1])
    still = still + step.reshape([-1, 1, 1, 1] if axis == 0 else [1, -1, 1, 1])
    still = np.broadcast_to(still, [*window, *out]).reshape(1, prod(window), *out)
    offsets = n.reshape(n[2], [images, prod(window), 2, *out])
    offset = n.op("select.int", offsets, 2, axis)
    place = n.op("add.Tensor", offset, n.constant(still, element_of(offset)))
    floor, corners = _corners(n, place, size - 1)
    zero = n.scalar(0.0, place)
    found: list[Corner] = []
    for number, (at, share) in enumerate(corners):
        below = n.op("lt.Scalar", floor, float(-number))
        above = n.op("gt.Scalar", floor, float(size - 1 - number))
        outside = n.op("logical_or.default", below, above)
        found.append((at, n.op("where.self", outside, zero, share)))
    return found
