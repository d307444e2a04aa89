"""Tensors from nothing."""

from __future__ import annotations

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call, interprets
from lamina.runtime.interpreters.values import Array


@interprets("full", "full_like", "new_full", "fill.Scalar", "scalar_tensor", "fill.Tensor")
def full(a: Call) -> Array:
    """One value."""
    name = next(name for name in ("fill_value", "value", "s") if a.has(name))
    return np.full(a.shape, np.asarray(a[name]).astype(a.dtype))


@interprets("zeros", "zeros_like", "new_zeros", "zero", "empty.memory_format", "empty_like")
@interprets("new_empty", "empty_strided")
def zeros(a: Call) -> Array:
    """Zeros; also what is left uninitialized."""
    return np.zeros(a.shape, a.dtype)


@interprets("ones", "ones_like", "new_ones")
def ones(a: Call) -> Array:
    """Ones."""
    return np.ones(a.shape, a.dtype)


@interprets("arange.start_step", "arange.start", "arange")
def arange(a: Call) -> Array:
    """start + step * i."""
    start, step = a.get("start", 0), a.get("step", 1)
    if a.dtype.kind in "iu":
        start, step = int(start), int(step)
    return np.asarray(start + step * np.arange(a.shape[0])).astype(a.dtype)


@interprets("eye", "eye.m")
def eye(a: Call) -> Array:
    """Ones on the diagonal."""
    return np.eye(*a.shape, dtype=a.dtype)
