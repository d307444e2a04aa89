"""What norms mean, for operands with which kernels of eager mode lose digits; see `definitions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from fuzzing.values import COMPLEX, FLOATS

Arguments = dict[str, Any]


def norm(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """Where squares overflow: norms in f64 of what is f32, or else no numbers, or zeros and a bias.

    Sums of huge elements that cancel in f64 have either sign: means are a unit of the largest off.
    With an odd variant, elements that are the mean but for its rounding have no distance from it.
    """
    x = a["input"]
    rows = [*x.shape[: x.dim() - len(a["normalized_shape"])]] if "group" not in a else []
    rows = rows or [a.get("N", 1), a.get("group", 1)]
    held = x if x.dtype is torch.float64 else x.float()
    overflow = (held.reshape(*rows, -1) ** 2).sum(-1, keepdim=True).isinf()
    if not bool(overflow.any()) or (x.dtype is torch.float64 and variant > 1):
        return _at_the_mean(a, made, rows) if variant % 2 else None
    if variant < 2:
        overflow = overflow.expand(*rows, made.numel() // overflow.numel()).reshape(made.shape)
        return torch.where(overflow, _bias(a, made) if variant else torch.nan, made)
    wide = {n: v.double() if isinstance(v, torch.Tensor) else v for n, v in a.items()}
    x, scale = wide["input"], (wide["weight"], wide["bias"])
    if "group" in a:
        x = x.reshape(a["N"], a["C"], -1)
        parts = torch.nn.functional.group_norm(x, a["group"], *scale, a["eps"])
    else:
        parts = torch.nn.functional.layer_norm(x, a["normalized_shape"], *scale, a["eps"])
    flat = parts.reshape(*rows, -1)
    unit = torch.finfo(torch.float64).eps * flat.abs().amax(-1, keepdim=True)
    parts = torch.where(overflow, flat + (unit if variant == 2 else -unit), flat)
    return parts.reshape(made.shape).to(made.dtype)


def _at_the_mean(a: Arguments, made: torch.Tensor, rows: Sequence[int]) -> torch.Tensor | None:
    """The bias for elements that are the mean of their row."""
    if made.dtype not in FLOATS:
        return None
    x = a["input"].double().reshape(*rows, -1)
    near = _is_mean(x, x.mean(-1, keepdim=True), made.dtype).reshape(made.shape)
    return torch.where(near, _bias(a, made), made)


def _bias(a: Arguments, made: torch.Tensor) -> torch.Tensor:
    """The bias of a norm, or 0, that broadcasts to its result."""
    bias = torch.zeros(()) if a["bias"] is None else a["bias"]
    if "group" in a and bias.dim():
        bias = bias.reshape(-1, *[1] * (made.dim() - 2))
    return bias.to(made.dtype)


def _is_mean(x: torch.Tensor, mean: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Where rows less their means are 0, give or take a unit of the row's largest element: eager
    mode multiplies both by the root first, and has the difference of two roundings there."""
    sizes = torch.where(x.isfinite(), x.abs(), 0)
    return (x - mean).abs() <= torch.finfo(dtype).eps * sizes.amax(-1, keepdim=True)


def batch_norm(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """With an odd variant, the bias for elements that are the mean of their channel."""
    if made.dtype not in FLOATS or variant % 2 == 0:
        return None
    x = a["input"].double().transpose(0, 1).flatten(1)
    mean = x.mean(-1) if a["training"] else a["running_mean"].double()
    turned = made.transpose(0, 1)
    near = _is_mean(x, mean[:, None], made.dtype).reshape(turned.shape)
    bias = torch.zeros(len(x)) if a["bias"] is None else a["bias"]
    bias = bias.to(made.dtype).reshape(-1, *[1] * (made.dim() - 1))
    return torch.where(near, bias, turned).transpose(0, 1)


def vector_norm(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    x = a["self"]
    wide = torch.complex128 if x.dtype in COMPLEX else torch.float64
    if made.dtype not in FLOATS or x.dtype == wide:
        return None
    meant = torch.linalg.vector_norm(x.to(wide), a["ord"], a["dim"], a["keepdim"])
    return meant.to(made.dtype)


def dist(a: Arguments, made: torch.Tensor, variant: int) -> torch.Tensor | None:
    """The norm of a difference, in f64."""
    one, other = a["self"], a["other"]
    if made.dtype not in FLOATS or made.dtype is torch.float64 or one.dtype in COMPLEX:
        return None
    return torch.dist(one.double(), other.double(), a["p"]).to(made.dtype)
