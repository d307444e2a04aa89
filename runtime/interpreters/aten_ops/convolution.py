"""Convolution of any number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets, wide
from lamina.runtime.interpreters.values import Array


def windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Array:
    """Sliding windows over the last len(kernel) dimensions, as that many new last dimensions."""
    dims = len(kernel)
    extents = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True))
    axis = tuple(range(x.ndim - dims, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, extents, axis)
    steps = (slice(None, None, s) for s in stride)
    inner = (slice(None, None, d) for d in dilation)
    return view[(..., *steps, *inner)]


def pad_spatial(x: Array, padding: Sequence[tuple[int, int]], value: float = 0) -> Array:
    """The last dimensions with a border of `value`; negative widths cut."""
    lead = x.ndim - len(padding)
    cut = [slice(None)] * lead + [
        slice(max(-low, 0), extent - max(-high, 0))
        for (low, high), extent in zip(padding, x.shape[lead:], strict=True)
    ]
    widths = [(0, 0)] * lead + [(max(low, 0), max(high, 0)) for low, high in padding]
    return np.pad(x[tuple(cut)], widths, constant_values=value)


def correlate(
    x: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """(N, C, ...) with (O, C/groups, ...) to (N, O, ...); of no channels none are made."""
    if not x.shape[1]:
        weight = weight[:0]
    view = windows(pad_spatial(x, padding), weight.shape[2:], stride, dilation)
    dims = weight.ndim - 2
    pieces = []
    for part, kernel in zip(
        np.split(view, groups, axis=1), np.split(weight, groups, axis=0), strict=True
    ):
        inner = [1, *range(2 + dims, 2 + 2 * dims)]
        # np.tensordot takes one element for a factor, and leaves zeros out: 0 times NaN is 0 there.
        rows = np.moveaxis(part, inner, range(-len(inner), 0))
        shape = rows.shape[: -len(inner)]
        columns = kernel.reshape(len(kernel), prod(kernel.shape[1:])).T
        piece = (rows.reshape(prod(shape), len(columns)) @ columns).reshape(*shape, len(kernel))
        pieces.append(np.moveaxis(piece, -1, 1))
    return np.concatenate(pieces, axis=1)


def scatter(
    x: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    extra: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """(N, C, ...) with (C, O/groups, ...) to (N, O, ...): each element times the window, added up.

    Only what is there is multiplied: an infinite weight meets no zeros between elements.
    """
    channels, out = weight.shape[:2]
    columns = list(zip(x.shape[2:], weight.shape[2:], stride, dilation, extra, strict=True))
    full = [(n - 1) * s + d * (k - 1) + 1 + e if n else 0 for n, k, s, d, e in columns]
    own = x.reshape(len(x), groups, channels // groups, *x.shape[2:])
    kernel = weight.reshape(groups, channels // groups, *weight.shape[1:])
    result = np.zeros((len(x), groups, out, *full), np.result_type(x, weight))
    for place in np.ndindex(*weight.shape[2:]):
        made = np.einsum("ngc...,gco->ngo...", own, kernel[(..., *place)])
        starts = [at * column[3] for at, column in zip(place, columns, strict=True)]
        steps = (
            slice(at, at + (n - 1) * s + 1, s)
            for at, (n, _, s, _, _) in zip(starts, columns, strict=True)
        )
        result[(..., *steps)] += made
    inner = (slice(p, n - p) for p, n in zip(padding, full, strict=True))
    return result.reshape(len(x), groups * out, *full)[(..., *inner)]


def _list(value: int | Sequence[int], dims: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * dims if len(values) == 1 else values


@interprets("convolution", "conv1d", "conv2d", "conv3d")
def convolution(a: Call) -> Array:
    """Correlation, or its transpose; bias added."""
    x, weight, bias = wide(a["input"]), wide(a["weight"]), a["bias"]
    dims = weight.ndim - 2
    batched = x.ndim == weight.ndim
    x = x if batched else x[None]
    stride, padding, dilation = (_list(a[name], dims) for name in ("stride", "padding", "dilation"))
    if a.get("transposed"):
        extra = _list(a["output_padding"], dims)
        result = scatter(x, weight, stride, padding, extra, dilation, a["groups"])
    else:
        border = [(p, p) for p in padding]
        result = correlate(x, weight, stride, border, dilation, a["groups"])
    if bias is not None:
        result = result + bias.reshape(-1, *[1] * dims)
    return result if batched else result[0]
