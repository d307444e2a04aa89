"""Ops that make, move, join and cut tensors."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from onnx import numpy_helper

from lamina.frontends.onnx.element_types import ELEMENT_TYPES, element_type, name_of
from lamina.frontends.onnx.folding import reshaped, slice_bounds, split_sizes
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Coded, Held, Known, Value, element_of, held, shape_of


@imports("Identity")
def identity(n: Node) -> Held:
    """The value itself."""
    return n.any(0)


@imports("Constant")
def constant(n: Node) -> Value | Coded:
    """An array in the model."""
    for name, kind in (("value_float", np.float32), ("value_floats", np.float32)):
        if name in n.attributes:
            return Known(np.asarray(n.attr(name), kind))
    for name in ("value_int", "value_ints"):
        if name in n.attributes:
            return Known(np.asarray(n.attr(name), np.int64))
    value = n.attr("value")
    if value is None:
        raise n.refuse("only tensors of numbers are taken")
    if element_type(value.data_type) is None:
        raise n.refuse(f"elements of type {name_of(value.data_type)}")
    return held(numpy_helper.to_array(value))


@imports("Shape")
def shape(n: Node) -> Value:
    """Sizes, which are static."""
    sizes = n.shape()
    return Known(np.asarray(sizes[n.attr("start", 0) : n.attr("end")], np.int64))


@imports("Size")
def size(n: Node) -> Value:
    """Number of elements."""
    return Known(np.asarray(prod(n.shape()), np.int64))


@imports("Reshape")
def reshape(n: Node) -> Value:
    """Another shape, which has to be known."""
    return n.reshape(n[0], reshaped(n, n.shape(), [int(v) for v in n.known(1)]))


@imports("Flatten")
def flatten(n: Node) -> Value:
    """To a matrix."""
    sizes = n.shape()
    axis = int(n.attr("axis", 1))
    axis = axis + len(sizes) if axis < 0 else axis
    return n.reshape(n[0], [prod(sizes[:axis]), prod(sizes[axis:])])


@imports("Transpose")
def transpose(n: Node) -> Value:
    """Dims in another order, by default reversed."""
    rank = n.rank()
    return n.transpose(n[0], n.ints("perm") or list(range(rank))[::-1])


@imports("Squeeze")
def squeeze(n: Node) -> Value:
    """Without dims of size 1."""
    sizes = n.shape()
    axes = n.known_or(1, "axes")
    gone = (
        {i for i, s in enumerate(sizes) if s == 1} if axes is None else {n.counted(a) for a in axes}
    )
    if any(sizes[i] != 1 for i in gone):
        raise n.refuse("dims that are removed must be of size 1")
    return n.reshape(n[0], [s for i, s in enumerate(sizes) if i not in gone])


@imports("Unsqueeze")
def unsqueeze(n: Node) -> Value:
    """With more dims of size 1."""
    axes = n.known_or(1, "axes") or []
    rank = n.rank() + len(axes)
    places = {n.counted(a, rank) for a in axes}
    sizes = iter(n.shape())
    return n.reshape(n[0], [1 if i in places else next(sizes) for i in range(rank)])


@imports("Concat")
def concat(n: Node) -> Value:
    """Joined along an axis."""
    return n.op("cat.default", [v for v in n.inputs if v is not None], n.axis(0))


@imports("Split")
def split(n: Node) -> Result:
    """Cut along an axis."""
    axis = n.axis(0)
    given = [int(v) for v in n.known(1)] if n.get(1) is not None else None
    starts = np.cumsum([0, *split_sizes(n, n.shape()[axis], given)])
    return [n.op("slice.Tensor", n[0], axis, int(a), int(b), 1) for a, b in pairwise(starts)]


@imports("Slice")
def slice_(n: Node) -> Value:
    """Cut with steps, which may be negative."""
    starts, ends = n.known_or(1, "starts") or [], n.known_or(2, "ends") or []
    axes = n.known_or(3, "axes") or list(range(len(starts)))
    steps = n.known_or(4, "steps") or [1] * len(starts)
    value = n[0]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = n.counted(axis)
        first, last, step = slice_bounds(shape_of(value)[axis], start, end, step)
        if step < 0:
            count = max(0, -((last - first) // -step)) if last < first else 0
            places = np.asarray(first + step * np.arange(count), np.int64)
            value = n.op("index_select.default", value, axis, n.constant(places))
        elif (first, last, step) != (0, shape_of(value)[axis], 1):
            value = n.op("slice.Tensor", value, axis, first, max(first, last), step)
    return value


@imports("Expand")
def expand(n: Node) -> Value:
    """Broadcast with a shape, either way."""
    return n.expand(n[0], np.broadcast_shapes(n.shape(), tuple(int(v) for v in n.known(1))))


@imports("Tile")
def tile(n: Node) -> Value:
    """Repeated along each dim."""
    return n.op("repeat.default", n[0], [int(v) for v in n.known(1)])


@imports("ConstantOfShape")
def constant_of_shape(n: Node) -> Value:
    """One number everywhere."""
    value = n.attr("value")
    filled = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
    sizes = [int(v) for v in n.known(0)]
    return n.op("full.default", sizes, filled.ravel()[0].item(), dtype=element_of(Known(filled)))


@imports("Range")
def range_(n: Node) -> Value:
    """Numbers from a start, below a limit."""
    start, limit, delta = (n.known(i).ravel()[0] for i in range(3))
    return Known(np.arange(start, limit, delta).astype(n.known(0).dtype))


@imports("EyeLike")
def eye_like(n: Node) -> Value:
    """Ones on a diagonal."""
    rows, columns = n.shape()
    code = int(n.attr("dtype", 0))
    if code and code not in ELEMENT_TYPES:
        raise n.refuse(f"elements of type {name_of(code)}")
    element = ELEMENT_TYPES[code] if code else n.element()
    return n.constant(np.eye(rows, columns, int(n.attr("k", 0))), element)


@imports("Trilu")
def triangle(n: Node) -> Value:
    """One triangle of each matrix."""
    k = int(n.known(1).ravel()[0]) if n.get(1) is not None else 0
    return n.op("triu.default" if n.attr("upper", 1) else "tril.default", n[0], k)


@imports("DepthToSpace")
def depth_to_space(n: Node) -> Value:
    """Channels to blocks of pixels."""
    b, c, h, w = n.shape()
    s = int(n.attr("blocksize"))
    if n.attr("mode", "DCR") == "DCR":
        parts, order = [b, s, s, c // s**2, h, w], [0, 3, 4, 1, 5, 2]
    else:
        parts, order = [b, c // s**2, s, s, h, w], [0, 1, 4, 2, 5, 3]
    moved = n.transpose(n.reshape(n[0], parts), order)
    return n.reshape(moved, [b, c // s**2, h * s, w * s])


@imports("SpaceToDepth")
def space_to_depth(n: Node) -> Value:
    """Blocks of pixels to channels."""
    b, c, h, w = n.shape()
    s = int(n.attr("blocksize"))
    parts = n.reshape(n[0], [b, c, h // s, s, w // s, s])
    order = [0, 1, 3, 5, 2, 4] if n.attr("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    return n.reshape(n.transpose(parts, order), [b, c * s * s, h // s, w // s])


@imports("Pad")
def pad(n: Node) -> Value:
    """Constants, edges, reflections or the other side around each dim."""
    pads = n.known_or(1, "pads") or []
    rank = n.rank()
    axes = [n.counted(int(a)) for a in n.known(3)] if n.get(3) is not None else list(range(rank))
    low, high = [0] * rank, [0] * rank
    for place, axis in enumerate(axes):
        low[axis], high[axis] = pads[place], pads[place + len(axes)]
    mode = n.attr("mode", "constant")
    if mode != "constant":
        return _pad_from_inside(n, low, high, mode)
    number = n.known(2).ravel()[0].item() if n.get(2) is not None else n.attr("value", 0.0)
    if not n.is_float():
        number = int(number)
    flat = [w for axis in reversed(range(rank)) for w in (low[axis], high[axis])]
    return n.op("constant_pad_nd.default", n[0], flat, number)


def _pad_from_inside(n: Node, low: list[int], high: list[int], mode: str) -> Value:
    value = n[0]
    modes = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}
    if mode not in modes:
        raise n.refuse(f"mode {mode}")
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if not before and not after:
            continue
        places = np.arange(shape_of(value)[axis])
        cut = places[max(0, -before) : len(places) - max(0, -after)]
        places = np.pad(cut, (max(0, before), max(0, after)), modes[mode])  # pyright: ignore
        value = n.op("index_select.default", value, axis, n.constant(places))
    return value
