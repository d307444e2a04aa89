"""Resize: each result element is a weighted sum along each axis, by matrices made at import."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, element_of, shape_of

Nearest = Callable[[float], int]
_NEAREST: dict[str, Nearest] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


@imports("Resize", first=11)
def resize(n: Node) -> Value:
    """By nearest elements, linear or cubic weights, along the axes whose size changes."""
    rank = n.rank()
    axes = [n.counted(a) for a in n.ints("axes") or range(rank)]
    scales, sizes = _scales(n, axes)
    value = n[0]
    for place, axis in enumerate(axes):
        if sizes[place] == n.shape()[axis] and scales[place] == 1 and not _crops(n):
            continue
        value = _along(n, value, axis, place, len(axes), scales[place], sizes[place])
    return value if value is n[0] else n.cast(value, n.element())


@imports("Upsample", first=9)
def upsample(n: Node) -> Value:
    """The nearest element before."""
    scales = [float(v) for v in n.known(1)]
    value = n[0]
    for axis, scale in enumerate(scales):
        size = shape_of(value)[axis]
        if scale == 1:
            continue
        if n.attr("mode", "nearest") != "nearest":
            raise n.refuse("other modes than nearest; Resize has them")
        places = np.minimum(np.arange(math.floor(size * scale)) / scale, size - 1)
        value = n.op("index_select.default", value, axis, n.constant(places.astype(np.int64)))
    return value


def _crops(n: Node) -> bool:
    return n.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"


def _scales(n: Node, axes: list[int]) -> tuple[list[float], list[int]]:
    old = [n.shape()[axis] for axis in axes]
    given = n.get(2)
    if given is not None and math.prod(shape_of(given)):
        scales = [float(v) for v in n.known(2)]
        return scales, [math.floor(a * s) for a, s in zip(old, scales, strict=True)]
    sizes = [int(v) for v in n.known(3)]
    scales = [new / a for new, a in zip(sizes, old, strict=True)]
    policy = n.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = (min if policy == "not_larger" else max)(scales)
        scales = [scale] * len(scales)
        sizes = [math.floor(a * scale + 0.5) for a in old]
    return scales, sizes


def _coordinate(
    n: Node, i: int, size: int, new: int, scale: float, place: int, count: int
) -> float:
    """Where result element `i` lies among the elements of the argument."""
    mode = n.attr("coordinate_transformation_mode", "half_pixel")
    if mode == "asymmetric":
        return i / scale
    if mode == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if new > 1 else -0.5
    exact = scale * size
    if mode == "align_corners":
        return i * (size - 1) / (exact - 1) if exact != 1 else 0.0
    if mode == "half_pixel_symmetric":
        centre = size / 2 * (1 - new / exact)
        return centre + (i + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        roi = n.known(1)
        start, end = float(roi[place]), float(roi[place + count])
        if new == 1:
            return 0.5 * (start + end) * (size - 1)
        return start * (size - 1) + i * (end - start) * (size - 1) / (exact - 1)
    raise n.refuse(f"coordinates by {mode}")


def _along(
    n: Node, value: Value, axis: int, place: int, count: int, scale: float, new: int
) -> Value:
    size = shape_of(value)[axis]
    places = [_coordinate(n, i, size, new, scale, place, count) for i in range(new)]
    outside = [_crops(n) and not 0 <= x <= size - 1 for x in places]
    if n.attr("mode", "nearest") == "nearest":
        nearest = _NEAREST[n.attr("nearest_mode", "round_prefer_floor")]
        index = np.clip([nearest(x) for x in places], 0, size - 1).astype(np.int64)
        made = n.op("index_select.default", value, axis, n.constant(index))
    else:
        made = _weighted(n, value, axis, np.stack([_weights(n, x, size, scale) for x in places]))
    if not any(outside):
        return made
    mask = np.asarray(outside).reshape(
        [-1 if d == axis else 1 for d in range(len(shape_of(value)))]
    )
    number = n.constant(n.attr("extrapolation_value", 0.0), element_of(made))
    return n.op("where.self", n.constant(mask), number, made)


def _weighted(n: Node, value: Value, axis: int, weights: np.ndarray) -> Value:
    rank = len(shape_of(value))
    order = [d for d in range(rank) if d != axis] + [axis]
    moved = n.transpose(value, order)
    product = n.op("matmul.default", moved, n.constant(weights.T, element_of(value)))
    return n.transpose(product, [order.index(d) for d in range(rank)])


def _weights(n: Node, x: float, size: int, scale: float) -> np.ndarray:
    """The weight of each element for a place between them."""
    cubic = n.attr("mode") == "cubic"
    a = float(n.attr("cubic_coeff_a", -0.75))
    shrink = min(scale, 1.0) if n.attr("antialias", 0) else 1.0
    reach = (2 if cubic else 1) / shrink
    row = np.zeros(size)
    for i in range(math.floor(x - reach), math.ceil(x + reach) + 1):
        distance = abs(x - i) * shrink
        weight = _cubic(distance, a) if cubic else max(0.0, 1 - distance)
        if not 0 <= i < size and n.attr("exclude_outside", 0):
            continue
        row[min(max(i, 0), size - 1)] += weight
    return row / row.sum() if row.sum() else row


def _cubic(d: float, a: float) -> float:
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


@imports("GridSample")
def grid_sample(n: Node) -> Value:
    """Elements of images at places of a grid."""
    modes = {"linear": 0, "bilinear": 0, "nearest": 1, "cubic": 2, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    mode = modes[n.attr("mode", "linear")]
    rank = n.rank()
    if rank == 5 and mode == 2:
        raise n.refuse("cubic weights in three dims")
    padding = paddings[n.attr("padding_mode", "zeros")]
    name = "grid_sampler_2d.default" if rank == 4 else "grid_sampler_3d.default"
    aligned = bool(n.attr("align_corners", 0))
    return n.op(name, n[0], n.cast(n[1], n.element()), mode, padding, aligned)
