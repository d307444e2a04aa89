"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math

import numpy as np

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, shape_of


def split_pads(
    n: Node, sizes: list[int], window: list[int], stride: list[int], dilation: list[int]
) -> tuple[list[int], list[int]]:
    """Padding before and behind each spatial dim."""
    rank = len(window)
    auto = n.attr("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID", ""):
        pads = (None if auto == "VALID" else n.ints("pads")) or [0] * 2 * rank
        return pads[:rank], pads[rank:]
    low: list[int] = []
    high: list[int] = []
    for size, w, s, d in zip(sizes, window, stride, dilation, strict=True):
        total = max(0, (-(-size // s) - 1) * s + (w - 1) * d + 1 - size)
        less, more = total // 2, total - total // 2
        low.append(less if auto == "SAME_UPPER" else more)
        high.append(more if auto == "SAME_UPPER" else less)
    return low, high


def padded(n: Node, value: Value, low: list[int], high: list[int], number: float) -> Value:
    """With a number around the trailing dims."""
    if not any(low) and not any(high):
        return value
    flat = [w for pair in reversed(list(zip(low, high, strict=True))) for w in pair]
    return n.op("constant_pad_nd.default", value, flat, number)


def convolve(n: Node, x: Value, weight: Value, bias: Value | None) -> Value:
    """The convolution that the node's attributes describe."""
    window = list(shape_of(weight)[2:])
    ones = [1] * len(window)
    stride, dilation = n.ints("strides") or ones, n.ints("dilations") or ones
    low, high = split_pads(n, list(shape_of(x)[2:]), window, stride, dilation)
    if low != high:
        x, low = padded(n, x, low, high, 0), [0] * len(window)
    groups = int(n.attr("group", 1))
    zeros = [0] * len(window)
    return n.op("convolution.default", x, weight, bias, stride, low, dilation, False, zeros, groups)


@imports("Conv")
def convolution(n: Node) -> Value:
    """Cross-correlation over any number of dims."""
    return convolve(n, n[0], n[1], n.get(2))


@imports("ConvTranspose")
def transposed_convolution(n: Node) -> Value:
    """The gradient of a convolution; pads cut what it makes."""
    window = list(n.shape(1)[2:])
    ones, zeros = [1] * len(window), [0] * len(window)
    stride, dilation = n.ints("strides") or ones, n.ints("dilations") or ones
    extra = n.ints("output_padding") or zeros
    sizes = n.shape()[2:]
    full = [
        s * (size - 1) + (w - 1) * d + 1
        for s, size, w, d in zip(stride, sizes, window, dilation, strict=True)
    ]
    low, high = _cut(n, full, extra, [size * s for size, s in zip(sizes, stride, strict=True)])
    groups = int(n.attr("group", 1))
    made = n.op(
        "convolution.default", n[0], n[1], None, stride, zeros, dilation, True, zeros, groups
    )
    behind = [e - h for e, h in zip(extra, high, strict=True)]
    made = padded(n, made, [-v for v in low], behind, 0)
    if n.get(2) is None:
        return made
    return n.op("add.Tensor", made, n.reshape(n[2], [1, n.shape(2)[0], *ones]))


def _cut(
    n: Node, full: list[int], extra: list[int], same: list[int]
) -> tuple[list[int], list[int]]:
    rank = len(full)
    shape = n.ints("output_shape")
    auto = n.attr("auto_pad", "NOTSET")
    if shape is None and auto not in ("SAME_UPPER", "SAME_LOWER"):
        pads = n.ints("pads") or [0] * 2 * rank
        return pads[:rank], pads[rank:]
    wanted = (shape or same)[-rank:]
    low: list[int] = []
    high: list[int] = []
    for size, e, w in zip(full, extra, wanted, strict=True):
        total = size + e - w
        less, more = total // 2, total - total // 2
        low.append(less if auto == "SAME_UPPER" else more)
        high.append(more if auto == "SAME_UPPER" else less)
    return low, high


@imports("Col2Im")
def columns_to_image(n: Node) -> Value:
    """The sum of blocks that lie over one another: [batch, channel * block, place] to an image."""
    image = [int(v) for v in n.known(1)]
    block = [int(v) for v in n.known(2)]
    rank = len(image)
    ones = [1] * rank
    stride, dilation = n.ints("strides") or ones, n.ints("dilations") or ones
    pads = n.ints("pads") or [0] * 2 * rank
    whole = [s + pads[i] + pads[rank + i] for i, s in enumerate(image)]
    batch, rows, count = n.shape()
    taps = math.prod(block)
    steps = zip(whole, block, stride, dilation, strict=True)
    places = [(size - (b - 1) * d - 1) // s + 1 for size, b, s, d in steps]
    index = np.zeros([*block, *places], np.int64)
    for axis, size in enumerate(whole):
        offset = np.arange(block[axis]).reshape(_along(axis, 2 * rank)) * dilation[axis]
        begin = np.arange(places[axis]).reshape(_along(rank + axis, 2 * rank)) * stride[axis]
        index = index * size + offset + begin
    channels = rows // taps
    values = n.reshape(n[0], [batch * channels, taps * count])
    zeros = n.op("full.default", [batch * channels, math.prod(whole)], 0, dtype=n.element())
    made = n.op("index_add.default", zeros, 1, n.constant(index.ravel()), values)
    made = n.reshape(made, [batch, channels, *whole])
    return padded(n, made, [-p for p in pads[:rank]], [-p for p in pads[rank:]], 0)


def _along(axis: int, rank: int) -> list[int]:
    return [-1 if a == axis else 1 for a in range(rank)]
