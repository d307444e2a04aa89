"""`prims.fourier` and `loop.fourier` over NumPy."""

from __future__ import annotations

import numpy as np

from lamina.runtime.interpreters.values import Array


def transformed(
    x: Array, kind: str, size: int, scale: float, *, inverse: bool, onesided: bool
) -> Array:
    """Rows of `size` numbers, real or complex by `kind`, as `loop.fourier` has them."""
    if kind == "c2r":
        found = np.fft.irfft(x, size, norm="forward")
    elif kind == "r2c" and onesided:
        found = np.fft.rfft(x)
    else:
        found = np.fft.ifft(x, norm="forward") if inverse else np.fft.fft(x)
    return found * found.real.dtype.type(scale)
