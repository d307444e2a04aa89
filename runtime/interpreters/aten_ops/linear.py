"""Products of matrices and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.normalization import softmax
from lamina.runtime.interpreters.aten_ops.registry import Call, interprets
from lamina.runtime.interpreters.philox import draw
from lamina.runtime.interpreters.values import Array


def product(x: Array, y: Array) -> Array:
    """Matrix product; bools are refused as in torch."""
    return x @ y


@interprets("mm", "bmm", "matmul", "mv", "dot")
def matmul(a: Call) -> Array:
    """x @ y."""
    x, y = a.op.operands[:2]
    return product(a._decode(x), a._decode(y))  # pyright: ignore[reportPrivateUsage]


def _scaled(x: Any, factor: float) -> Any:
    return x if factor == 1 else x * np.asarray(factor).astype(np.asarray(x).dtype)


@interprets("addmm")
def addmm(a: Call) -> Array:
    """beta * self + alpha * mat1 @ mat2; self is not read if beta is 0."""
    result = _scaled(product(a["mat1"], a["mat2"]), a["alpha"])
    return result if a["beta"] == 0 else _scaled(a["self"], a["beta"]) + result


@interprets("baddbmm")
def baddbmm(a: Call) -> Array:
    """beta * self + alpha * batch1 @ batch2."""
    result = _scaled(product(a["batch1"], a["batch2"]), a["alpha"])
    return result if a["beta"] == 0 else _scaled(a["self"], a["beta"]) + result


@interprets("linear")
def linear(a: Call) -> Array:
    """x W^T + bias."""
    result = product(a["input"], a["weight"].T)
    return result if a["bias"] is None else result + a["bias"]


@interprets("_cdist_forward")
def cdist(a: Call) -> Array:
    """Distances of all pairs of rows."""
    x, y, order = a["x1"].astype(np.float64), a["x2"].astype(np.float64), a["p"]
    distance = np.abs(x[..., :, None, :] - y[..., None, :, :])
    if order == np.inf:
        return distance.max(-1)
    if order == 0:
        return (distance != 0).sum(-1)
    return (distance**order).sum(-1) ** (1 / order)


@interprets("einsum")
def einsum(a: Call) -> Array:
    """As NumPy's, which does not sum an ellipsis that the output leaves out.

    It adds a single product to 0, too: that one's sign is lost, if it is -0.
    """
    inputs, arrow, output = a["equation"].replace(" ", "").partition("->")
    if not arrow or "..." in output or "..." not in inputs:
        equation, tensors = inputs + arrow + output, a["tensors"]
        made = np.einsum(equation, *tensors)
        if made.dtype.kind in "biuc":
            return made
        terms = np.einsum(equation, *(np.ones(x.shape, np.int64) for x in tensors))
        signs = np.einsum(equation, *(1 - 2 * np.signbit(x).astype(np.int64) for x in tensors))
        return np.where((terms == 1) & (made == 0) & (signs < 0), -made, made)
    made = np.einsum(f"{inputs}->...{output}", *a["tensors"])
    return made.sum(axis=tuple(range(made.ndim - len(output))))


@interprets("scaled_dot_product_attention")
def attention(a: Call) -> Array:
    """softmax(q k^T scale + mask) v; fully masked rows give 0."""
    query, key, value = (a[name].astype(np.float64) for name in ("query", "key", "value"))
    if a["enable_gqa"]:
        times = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, times, -3), np.repeat(value, times, -3)
    scale = a["scale"] if a["scale"] is not None else max(query.shape[-1], 1) ** -0.5
    scores = query @ np.swapaxes(key, -1, -2) * scale
    mask = a["attn_mask"]
    if a["is_causal"]:
        mask = np.tril(np.ones(scores.shape[-2:], np.bool_))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    weights = softmax(scores, -1)
    weights = np.where(np.all(scores == -np.inf, -1, keepdims=True), 0, weights)
    p = a["dropout_p"]
    if p:
        stays = draw(weights.shape, "uniform", "float32") < np.float32(1 - p)
        weights = weights * stays * (1 / (1 - p) if p < 1 else 0)
    return weights @ value
