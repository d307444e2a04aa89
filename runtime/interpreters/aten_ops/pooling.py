"""Pooling windows and resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.convolution import pad_spatial, windows
from lamina.runtime.interpreters.aten_ops.registry import Call, interprets, wide
from lamina.runtime.interpreters.values import Array, greatest, joined


def _list(value: int | Sequence[int], dims: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * dims if len(values) == 1 else values


def _geometry(
    a: Call, dims: int
) -> tuple[list[int], list[int], list[int], list[int], list[tuple[int, int]]]:
    """kernel, stride, padding, dilation, and the border that ceil_mode widens at the end."""
    kernel, padding = _list(a["kernel_size"], dims), _list(a["padding"], dims)
    stride = _list(a["stride"], dims) if a["stride"] else kernel
    dilation = _list(a.get("dilation", 1), dims)
    x, out = a["self"], a.shape[-dims:]
    border = []
    for i in range(dims):
        extent = (out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1
        border.append((padding[i], extent - x.shape[x.ndim - dims + i] - padding[i]))
    return kernel, stride, padding, dilation, border


@interprets("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool2d", "max_pool3d")
def max_pool(a: Call) -> Any:
    """Largest of each window, and its place in the flat plane."""
    dims = int(a.name[8])
    x: Array = a["self"]
    kernel, stride, _, dilation, border = _geometry(a, dims)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    view = windows(pad_spatial(x, border, lowest), kernel, stride, dilation)
    flat = joined(view, dims)
    values = greatest(flat, axis=-1)
    if "indices" not in a.name:
        return values
    plane = np.arange(np.prod(x.shape[-dims:])).reshape(x.shape[-dims:])
    places = windows(pad_spatial(plane, border, -1), kernel, stride, dilation)
    places = np.broadcast_to(joined(places, dims), flat.shape)
    best = np.where(places < 0, False, flat == values[..., None]) | (np.isnan(flat) & (places >= 0))
    chosen = best.argmax(-1)
    return values, np.take_along_axis(places, chosen[..., None], -1)[..., 0]


@interprets("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(a: Call) -> Array:
    """Mean of each window; the divisor as torch counts it."""
    dims = int(a.name[8])
    x = wide(a["self"])
    kernel, stride, padding, dilation, border = _geometry(a, dims)
    total = windows(pad_spatial(x, border), kernel, stride, dilation)
    total = total.sum(axis=tuple(range(-dims, 0)))
    if a.get("divisor_override"):
        return total / a["divisor_override"]
    inside = np.ones(x.shape[-dims:])
    if a["count_include_pad"]:
        inside = pad_spatial(inside, [(p, p) for p in padding], 1)
        border = [(0, high - p) for (_, high), p in zip(border, padding, strict=True)]
    counts = windows(pad_spatial(inside, border), kernel, stride, dilation)
    return total / counts.sum(axis=tuple(range(-dims, 0)))


@interprets("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
@interprets("adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(a: Call) -> Array:
    """Means of windows from floor(i * in / out) to ceil((i + 1) * in / out)."""
    x = wide(a["self"])
    dims = len(a.shape) and int(a.name.partition(".")[0][-2])
    for axis in range(x.ndim - dims, x.ndim):
        extent, out = x.shape[axis], a.shape[axis]
        pieces = [
            x.take(range(i * extent // out, -(-(i + 1) * extent // out)), axis).mean(axis)
            for i in range(out)
        ]
        x = np.stack(pieces, axis)
    return x


@interprets("upsample_nearest2d.vec")
def upsample_nearest(a: Call) -> Array:
    """floor(i * in / out), the ratio from scale_factors if they are given."""
    x: Array = a["input"]
    factors = a["scale_factors"]
    for position, axis in enumerate((2, 3)):
        out = a.shape[axis]
        ratio = 1 / factors[position] if factors else x.shape[axis] / out
        index = np.floor(np.arange(out, dtype=np.float32) * np.float32(ratio)).astype(np.int64)
        x = x.take(np.minimum(index, x.shape[axis] - 1), axis)
    return x


@interprets("upsample_bilinear2d.vec")
def upsample_bilinear(a: Call) -> Array:
    """Weighted mean of the two neighbours along each axis; of u8 with weights of 15 bits."""
    x = wide(a["input"])
    factors = a["scale_factors"]
    is_bytes = a["input"].dtype == np.uint8
    for position, axis in ((1, 3), (0, 2)):
        extent, out = x.shape[axis], a.shape[axis]
        if is_bytes and extent == out:
            continue
        index = np.arange(out, dtype=np.float64)
        if a["align_corners"]:
            source = index * ((extent - 1) / (out - 1) if out > 1 else 0)
        else:
            ratio = 1 / factors[position] if factors else extent / out
            source = np.maximum((index + 0.5) * ratio - 0.5, 0)
        low = np.minimum(source.astype(np.int64), extent - 1)
        high = np.minimum(low + 1, extent - 1)
        weight = (source - low).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        if is_bytes:
            most = np.where(low == high, 1, np.maximum(1 - weight, weight).reshape(-1)).max()
            unit = 2 ** sum(np.floor(0.5 + most * 2.0**bits) < 1 << 15 for bits in range(1, 23))
            weight = np.floor(weight * unit + 0.5)
            rest = np.floor((1 - (source - low).reshape(weight.shape)) * unit + 0.5)
            total = x.take(low, axis) * rest + x.take(high, axis) * weight
            x = np.clip(np.floor(total / unit + 0.5), 0, 255)
            continue
        x = x.take(low, axis) * (1 - weight) + x.take(high, axis) * weight
    return x
