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


def _erf_inv(y: float) -> float:
    """A rational start (Giles 2012), then two Newton steps."""
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    w = -math.log((1 - y) * (1 + y))
    x = y * math.sqrt(w) if w > 5 else y * (1.5014 + 0.2465 * (w - 2.5))
    x = math.copysign(min(abs(x), 5.8), y)
    for _ in range(40):
        tail = (
            math.erf(x) - y if abs(y) < 0.5 else math.copysign((1 - abs(y)) - math.erfc(abs(x)), y)
        )
        step = tail * math.sqrt(math.pi) / 2 * math.exp(min(x * x, 700))
        x -= max(-0.5, min(0.5, step))
        if abs(step) < 1e-16 * max(abs(x), 1):
            break
    return x


erf = _elementwise(math.erf)
erfc = _elementwise(math.erfc)
lgamma = _elementwise(_lgamma)
digamma = _elementwise(_digamma)
erf_inv = _elementwise(_erf_inv)
