"""Reads and writes at indices."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Known, Value, shape_of


def _from_front(n: Node, index: Value, size: int) -> Value:
    """Indices as i64, counted from the front."""
    if isinstance(index, Known):
        array = index.array.astype(np.int64)
        return n.constant(np.where(array < 0, array + size, array))
    index = n.cast(index, i64)
    below = n.op("lt.Scalar", index, 0)
    return n.op("where.self", below, n.op("add.Scalar", index, size), index)


@imports("Gather")
def gather(n: Node) -> Value:
    """Slices along an axis, at indices of any shape."""
    axis, shape, places = n.axis(0), n.shape(), n.shape(1)
    index = _from_front(n, n[1], shape[axis])
    flat = n.op("index_select.default", n[0], axis, n.reshape(index, [prod(places)]))
    return n.reshape(flat, [*shape[:axis], *places, *shape[axis + 1 :]])


@imports("GatherElements")
def gather_elements(n: Node) -> Value:
    """One element for each index."""
    axis = n.axis(0)
    return n.op("gather.default", n[0], axis, _from_front(n, n[1], n.shape()[axis]))


def _split_index(n: Node, index: Value, sizes: tuple[int, ...], batch: int) -> list[Value]:
    """One tensor of indices for each dim of `sizes`; those of the batch count themselves."""
    shape = shape_of(index)
    parts: list[Value] = []
    for dim in range(batch):
        counted = np.arange(shape[dim]).reshape(
            [-1 if d == dim else 1 for d in range(len(shape) - 1)]
        )
        parts.append(n.constant(np.broadcast_to(counted, shape[:-1])))
    for place in range(shape[-1]):
        part = n.op("select.int", index, len(shape) - 1, place)
        parts.append(_from_front(n, part, sizes[batch + place]))
    return parts


@imports("GatherND")
def gather_nd(n: Node) -> Value:
    """Slices at tuples of indices."""
    batch = int(n.attr("batch_dims", 0))
    return n.op("index.Tensor", n[0], _split_index(n, n[1], n.shape(), batch))


@imports("ScatterND")
def scatter_nd(n: Node) -> Value:
    """A copy with slices written at tuples of indices."""
    reduction = n.attr("reduction", "none")
    if reduction in ("none", "add"):
        parts = _split_index(n, n[1], n.shape(), 0)
        return n.op("index_put.default", n[0], parts, n[2], reduction == "add")
    return _scatter_rows(n, reduction)


def _scatter_rows(n: Node, reduction: str) -> Value:
    """By one index into the leading dims joined."""
    depth = n.shape(1)[-1]
    sizes = n.shape()
    rows, row = prod(sizes[:depth]), prod(sizes[depth:])
    place: Value | None = None
    for part, size in zip(_split_index(n, n[1], sizes, 0), sizes, strict=False):
        place = part if place is None else n.op("add.Tensor", n.op("mul.Scalar", place, size), part)
    assert place is not None
    count = prod(n.shape(1)[:-1])
    index = n.expand(n.reshape(place, [count, 1]), [count, row])
    flat = n.reshape(n[0], [rows, row])
    values = n.reshape(n[2], [count, row])
    kind = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    made = n.op("scatter_reduce.two", flat, 0, index, values, kind)
    return n.reshape(made, sizes)


@imports("Scatter", "ScatterElements")
def scatter_elements(n: Node) -> Value:
    """A copy with elements written at indices."""
    axis = n.axis(0)
    index = _from_front(n, n[1], n.shape()[axis])
    kinds = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    reduction = n.attr("reduction", "none")
    if reduction == "none":
        return n.op("scatter.src", n[0], axis, index, n[2])
    return n.op("scatter_reduce.two", n[0], axis, index, n[2], kinds[reduction])


@imports("Compress")
def compress(n: Node) -> Value:
    """Slices along an axis, or elements, where a condition holds; how many depends on data."""
    value, axis = n[0], 0
    if n.attr("axis") is None:
        value = n.reshape(value, [prod(n.shape())])
    else:
        axis = n.axis(0)
    count = n.shape(1)[0]
    if count < shape_of(value)[axis]:
        value = n.op("slice.Tensor", value, axis, 0, count)
    return n.op("index.Tensor", value, [*[None] * axis, n[1]])


@imports("NonZero")
def non_zero(n: Node) -> Value:
    """Indices of elements other than zero, one column each; how many depends on data."""
    return n.op("permute.default", n.op("nonzero.default", n[0]), [1, 0])


@imports("TensorScatter")
def tensor_scatter(n: Node) -> Value:
    """A copy of a cache in which slices along an axis are written from each row's place on."""
    axis, shape, update = n.axis(-2), n.shape(), n.shape(1)
    steps = np.arange(update[axis])
    if n.get(2) is None:
        place: Value = n.constant(steps[None])
    else:
        starts = n.reshape(n.cast(n[2], i64), [shape[0], 1])
        place = n.op("add.Tensor", starts, n.constant(steps[None]))
    if n.attr("mode", "linear") == "circular":
        place = n.op("remainder.Scalar", place, shape[axis])
    sizes = [shape_of(place)[0], *[1] * (len(shape) - 1)]
    sizes[axis] = update[axis]
    return n.op("scatter.src", n[0], axis, n.expand(n.reshape(place, sizes), update), n[1])


@imports("MaxUnpool")
def max_unpool(n: Node) -> Value:
    """Zeros, but for elements at the places of a whole tensor that pooling took them from."""
    batch, channels, *sizes = n.shape()
    window = n.ints("kernel_shape") or []
    stride = n.ints("strides") or [1] * len(window)
    pads = n.ints("pads") or [0] * 2 * len(window)
    ends = zip(pads[: len(window)], pads[len(window) :], strict=True)
    each = zip(sizes, stride, window, ends, strict=True)
    shape = [batch, channels, *((c - 1) * s - sum(p) + w for c, s, w, p in each)]
    count = prod(n.shape())
    zeros = n.op("full.default", [prod(shape)], 0, dtype=n.element())
    places = n.reshape(n.cast(n[1], i64), [count])
    whole = n.reshape(n.op("scatter.src", zeros, 0, places, n.reshape(n[0], [count])), shape)
    wanted = shape if n.get(2) is None else [int(v) for v in n.known(2)]
    more = [w - c for w, c in zip(wanted, shape, strict=True)]
    if not any(more):
        return whole
    pads = [width for behind in reversed(more) for width in (0, behind)]
    return n.op("constant_pad_nd.default", whole, pads, 0)


@imports("OneHot")
def one_hot(n: Node) -> Value:
    """Rows that are off but at an index."""
    depth = int(n.known(1).ravel()[0])
    rank = n.rank() + 1
    axis = n.axis(-1, rank)
    index = n.cast(n[0], i64)
    index = _from_front(n, index, depth)
    index = n.op("unsqueeze.default", index, axis)
    places = np.arange(depth).reshape([-1 if d == axis else 1 for d in range(rank)])
    hit = n.op("eq.Tensor", index, n.constant(places))
    off, on = (n.op("select.int", n[2], 0, i) for i in range(2))
    return n.op("where.self", hit, on, off)


@imports("ReverseSequence")
def reverse_sequence(n: Node) -> Value:
    """The first elements of each sequence in reverse."""
    time, batch = int(n.attr("time_axis", 0)), int(n.attr("batch_axis", 1))
    shape = n.shape()
    rank = len(shape)
    steps = np.arange(shape[time]).reshape([-1 if d == time else 1 for d in range(rank)])
    lengths = n.reshape(n.cast(n[1], i64), [shape[batch] if d == batch else 1 for d in range(rank)])
    places = n.constant(steps)
    turned = n.op("sub.Tensor", n.op("sub.Scalar", lengths, 1), places)
    index = n.op("where.self", n.op("ge.Scalar", turned, 0), turned, places)
    return n.op("gather.default", n[0], time, n.expand(index, shape))
