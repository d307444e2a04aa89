"""Pooling by windows and over whole images."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from lamina.frontends.onnx.convolution import padded, split_pads
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Value, element_of, shape_of


@imports("GlobalAveragePool")
def global_average(n: Node) -> Value:
    """The mean over all spatial dims."""
    return n.op("mean.dim", n[0], list(range(2, n.rank())), True)


@imports("GlobalMaxPool")
def global_max(n: Node) -> Value:
    """The largest over all spatial dims."""
    return n.op("amax.default", n[0], list(range(2, n.rank())), True)


class _Windows:
    """Windows of a node over the spatial dims, with all padding made explicit."""

    def __init__(self, n: Node) -> None:
        self.sizes = list(n.shape()[2:])
        self.window = n.ints("kernel_shape") or []
        ones = [1] * len(self.window)
        self.stride = n.ints("strides") or ones
        self.dilation = n.ints("dilations") or ones
        self.low, high = split_pads(n, self.sizes, self.window, self.stride, self.dilation)
        self.declared = list(high)
        self.high = [self._behind(i, h, bool(n.attr("ceil_mode", 0))) for i, h in enumerate(high)]

    def _behind(self, i: int, high: int, ceil: bool) -> int:
        """Padding behind so that the last window, if it begins inside, is whole."""
        reach = (self.window[i] - 1) * self.dilation[i] + 1
        span = self.sizes[i] + self.low[i] + high - reach
        count = (-(-span // self.stride[i]) if ceil else span // self.stride[i]) + 1
        if ceil and (count - 1) * self.stride[i] >= self.sizes[i] + self.low[i]:
            count -= 1
        return (count - 1) * self.stride[i] + reach - self.sizes[i] - self.low[i]

    def combined(self, n: Node, value: Value, combiner: str, identity: float) -> Value:
        whole = padded(n, value, self.low, self.high, identity)
        zeros = [0] * len(self.window)
        return n.op(
            "prims::reduce_window",
            whole, combiner, self.window, self.stride, zeros, self.dilation, False,
        )  # fmt: skip


@imports("MaxPool")
def max_pool(n: Node) -> Result:
    """The largest of each window, and its place in the whole tensor."""
    windows = _Windows(n)
    found = windows.combined(n, n[0], "max", n.least(n.element()))
    if len(n.proto.output) < 2:
        return found
    return [found, _places(n, windows)]


def _places(n: Node, windows: _Windows) -> Value:
    import numpy as np

    if n.attr("storage_order", 0) and len(windows.window) != 2:
        raise n.refuse("column-major places of other than images")
    whole = padded(n, n[0], windows.low, windows.high, n.least(n.element()))
    zeros = [0] * len(windows.window)
    index = n.op(
        "prims::window_index",
        whole, windows.window, windows.stride, zeros, windows.dilation, False,
    )  # fmt: skip
    # The place in the padded image becomes one in the tensor: a table says which.
    image = np.arange(int(np.prod(windows.sizes)))
    order = "F" if n.attr("storage_order", 0) else "C"
    image = image.reshape(windows.sizes, order=order)
    cut = [(max(0, a), max(0, b)) for a, b in zip(windows.low, windows.high, strict=True)]
    table = np.pad(image, cut)
    for axis, behind in enumerate(windows.high):
        if behind < 0:
            table = table.take(range(table.shape[axis] + behind), axis)
    flat = n.reshape(index, [int(np.prod(shape_of(index)))])
    place = n.op("index_select.default", n.constant(table.ravel()), 0, n.cast(flat, i64))
    place = n.reshape(place, shape_of(index))
    images = np.arange(n.shape()[0] * n.shape()[1]) * int(np.prod(windows.sizes))
    first = images.reshape(*n.shape()[:2], *[1] * len(windows.window))
    return n.op("add.Tensor", place, n.constant(first))


@imports("AveragePool")
def average_pool(n: Node) -> Value:
    """Means of windows; padding counts if `count_include_pad` says so."""
    import numpy as np

    windows = _Windows(n)
    total = windows.combined(n, n[0], "add", 0)
    counted = np.ones(windows.sizes)
    if n.attr("count_include_pad", 0):
        counted = np.pad(
            counted, list(zip(windows.low, windows.declared, strict=True)), constant_values=1
        )
        behind = [h - d for h, d in zip(windows.high, windows.declared, strict=True)]
        before = [0] * len(behind)
    else:
        before, behind = windows.low, windows.high
    for axis, width in enumerate(behind):
        if width < 0:
            counted = counted.take(range(counted.shape[axis] + width), axis)
    counted = np.pad(counted, [(a, max(0, b)) for a, b in zip(before, behind, strict=True)])
    counts = np.zeros(shape_of(total)[2:])
    for offset in np.ndindex(*windows.window):
        places = [
            slice(o * d, o * d + s * (size - 1) + 1, s)
            for o, d, s, size in zip(
                offset, windows.dilation, windows.stride, counts.shape, strict=True
            )
        ]
        counts += counted[tuple(places)]
    return n.op("div.Tensor", total, n.constant(counts, element_of(total)))


@imports("LpPool", "GlobalLpPool")
def lp_pool(n: Node) -> Value:
    """p-norms of windows."""
    p = int(n.attr("p", 2))
    powers = n.op("pow.Tensor_Scalar", n.op("abs.default", n[0]), p)
    if n.proto.op_type == "GlobalLpPool":
        dims = list(range(2, n.rank()))
        total = n.op("sum.dim_IntList", powers, dims, True)
    else:
        total = _Windows(n).combined(n, powers, "add", 0)
    return n.op("pow.Tensor_Scalar", total, 1.0 / p)
