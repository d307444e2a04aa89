"""Discrete Fourier transforms by NumPy (pocketfft), in the dtype of the input.

`normalization` is torch's: 0 leaves sums as they are, 1 divides by the root of the transformed
size, 2 by the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from lamina.runtime.extern_kernels.registry import extern_kernel

Norm = Literal["backward", "ortho", "forward"]

_FORWARD: tuple[Norm, ...] = ("backward", "ortho", "forward")
_INVERSE: tuple[Norm, ...] = ("forward", "ortho", "backward")
"""NumPy's names of torch's normalizations: a forward and an inverse transform scale by turns."""

REAL = ("f32", "f64")
COMPLEX = ("complex<f32>", "complex<f64>")


@extern_kernel("fft.r2c", dtypes=REAL)
def r2c(x: np.ndarray, *, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    """Of real input over `dim`; onesided keeps the first half of the last of them."""
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return transform(x, axes=list(dim), norm=_FORWARD[normalization])


@extern_kernel("fft.c2c", dtypes=COMPLEX)
def c2c(x: np.ndarray, *, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    """Of complex input over `dim`, forward or inverse."""
    if forward:
        return np.fft.fftn(x, axes=list(dim), norm=_FORWARD[normalization])
    return np.fft.ifftn(x, axes=list(dim), norm=_INVERSE[normalization])


@extern_kernel("fft.c2r", dtypes=COMPLEX)
def c2r(x: np.ndarray, *, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """The inverse of `r2c`; the last of `dim` has `last_dim_size` elements in the result."""
    sizes = [*(x.shape[d] for d in dim[:-1]), last_dim_size]
    return np.fft.irfftn(x, s=sizes, axes=list(dim), norm=_INVERSE[normalization])
