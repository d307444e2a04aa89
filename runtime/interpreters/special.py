"""Functions NumPy lacks, elementwise over arrays, computed in f64 by Python's `math`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lamina.runtime.interpreters.values import Array


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    vectorized = np.frompyfunc(function, 1, 1)

    def apply(x: Array) -> Array:
        return np.asarray(vectorized(x.astype(np.float64))).astype(x.dtype)

    return apply


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _digamma(x: float) -> float:
    """Recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.18)."""
    if x == 0:
        return math.copysign(math.inf, -x)
    if math.isinf(x) or math.isnan(x):
        return x if x > 0 or math.isnan(x) else math.nan
    if x < 0:
        if x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return total + math.log(x) - 0.5 / x - series


erf = _elementwise(math.erf)
erfc = _elementwise(math.erfc)
lgamma = _elementwise(_lgamma)
digamma = _elementwise(_digamma)
