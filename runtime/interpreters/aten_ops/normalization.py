"""Softmax and normalizations, in f64."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets, wide
from lamina.runtime.interpreters.values import Array


def softmax(x: Array, dim: int) -> Array:
    """exp(x - max) / sum."""
    if x.ndim == 0 or not x.size:
        return np.exp(x - x)
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


@interprets("_softmax", "softmax.int")
def softmax_(a: Call) -> Array:
    """Over one dimension."""
    return softmax(wide(a["self"]), a["dim"])


@interprets("_log_softmax", "log_softmax.int")
def log_softmax(a: Call) -> Array:
    """x - max - log(sum(exp(x - max)))."""
    x, dim = wide(a["self"]), a["dim"]
    if x.ndim == 0 or not x.size:
        return x - x
    x = x - x.max(axis=dim, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=dim, keepdims=True))


def _affine(x: Array, weight: Any, bias: Any) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _moments(x: Array, axis: tuple[int, ...], eps: float) -> tuple[Array, Array]:
    mean = x.mean(axis=axis, keepdims=True)
    return mean, 1 / np.sqrt(((x - mean) ** 2).mean(axis=axis, keepdims=True) + eps)


@interprets("native_layer_norm", "layer_norm")
def layer_norm(a: Call) -> Any:
    """Over the trailing dimensions: result, mean, reciprocal deviation."""
    x = wide(a["input"])
    axis = tuple(range(x.ndim - len(a["normalized_shape"]), x.ndim))
    mean, rstd = _moments(x, axis, a["eps"])
    result = _affine((x - mean) * rstd, a["weight"], a["bias"])
    return (result, mean, rstd) if a.name.startswith("native") else result


def _per_channel(v: Any, rank: int) -> Any:
    return None if v is None else v.reshape((1, -1) + (1,) * (rank - 2))


@interprets("native_group_norm", "group_norm")
def group_norm(a: Call) -> Any:
    """Over groups of channels: result, mean, reciprocal deviation of each group."""
    x = wide(a["input"])
    native = a.name.startswith("native")
    groups = a["group"] if native else a["num_groups"]
    grouped = x.reshape(x.shape[0], groups, prod(x.shape[1:]) // groups)
    mean, rstd = _moments(grouped, (2,), a["eps"])
    result = ((grouped - mean) * rstd).reshape(x.shape)
    weight, bias = (_per_channel(a[name], x.ndim) for name in ("weight", "bias"))
    result = _affine(result, weight, bias)
    return (result, mean[..., 0], rstd[..., 0]) if native else result


@interprets("_native_batch_norm_legit_no_training", "batch_norm")
def batch_norm(a: Call) -> Any:
    """With running statistics."""
    x = wide(a["input"])
    if a.get("training"):
        if a["running_mean"] is not None:
            raise ValueError("batch_norm that updates running statistics")
        return batch_norm_no_stats(a)[0]
    names = ("running_mean", "running_var", "weight", "bias")
    mean, var, weight, bias = (_per_channel(a[name], x.ndim) for name in names)
    result = _affine((x - mean) / np.sqrt(var + a["eps"]), weight, bias)
    return result if a.name == "batch_norm.default" else (result, np.zeros(0), np.zeros(0))


@interprets("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(a: Call) -> Any:
    """With the statistics of the batch: result, mean, reciprocal deviation of each channel."""
    x = wide(a["input"])
    axis = (0, *range(2, x.ndim))
    mean, rstd = _moments(x, axis, a["eps"])
    weight, bias = (_per_channel(a[name], x.ndim) for name in ("weight", "bias"))
    return _affine((x - mean) * rstd, weight, bias), mean.reshape(-1), rstd.reshape(-1)
