"""The elementwise functions on NumPy arrays, by name: NumPy's own, and what NumPy lacks.

The interpreters of all layers take them from here, each under the names of its own ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.dialects.elementwise import ROWS
from lamina.runtime.interpreters import special
from lamina.runtime.interpreters.values import Array


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def floor_mod(x: Array, y: Array) -> Array:
    """Remainder with the divisor's sign; torch refuses integer zero, NumPy gives 0."""
    if x.dtype.kind != "f":
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def power(x: Array, y: Array) -> Array:
    """x ** y; negative integer exponents as torch: 1 and -1 keep their powers, others give 0."""
    if x.dtype.kind in "iu" and np.any(y < 0):
        positive = np.power(x, np.maximum(y, 0))
        reciprocal = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0))
        return np.where(y < 0, reciprocal, positive)
    return np.power(x, y)


def sign(x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN. Complex numbers are brought to size 1."""
    return np.where(np.isnan(x), np.zeros_like(x), np.sign(x))


def round_half_away(x: Array) -> Array:
    """To the nearest integer, halves away from 0."""
    return np.trunc(x + np.copysign(np.asarray(0.5, x.dtype), x))


def logaddexp(x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)); of complex numbers the one with the larger real part is taken out."""
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    first = np.real(x) >= np.real(y)
    best, least = np.where(first, x, y), np.where(first, y, x)
    return best + np.log(np.exp(least - best) + 1)


def divide(x: Array, y: Array, mode: str | None) -> Array:
    """x / y, rounded by `mode`; integers stay integers, and are divided by 1 in place of 0."""
    if mode is None:
        return x / y
    if y.dtype.kind in "iu":
        y = np.where(y == 0, y.dtype.type(1), y)
    if mode == "floor":
        return np.floor_divide(x, y) if x.dtype.kind in "iu" else _floor_quotient(x, y)
    if x.dtype.kind in "iu":
        return ((x - np.fmod(x, y)) // y).astype(x.dtype)
    return np.trunc(x / y)


def _floor_quotient(x: Array, y: Array) -> Array:
    """floor(x / y) without x / y rounded up to an integer (torch's c10/util/generic_math.h)."""
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = np.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    floored = np.floor(quotient)
    floored = np.where(quotient - floored > 0.5, floored + 1, floored)
    zeros = np.copysign(np.zeros_like(quotient), x / y)
    return np.where(y == 0, x / y, np.where(quotient == 0, zeros, floored)).astype(x.dtype)


def _shift_left(x: Array, amount: Array) -> Array:
    """0 for shifts by the width or more, or by negative amounts."""
    fits = (amount >= 0) & (amount < x.dtype.itemsize * 8)
    return np.where(fits, np.left_shift(x, np.where(fits, amount, 0)), 0).astype(x.dtype)


def _shift_right(x: Array, amount: Array) -> Array:
    """The sign for shifts by the width or more, or by negative amounts."""
    most = np.asarray(x.dtype.itemsize * 8 - 1, x.dtype)
    fits = (amount >= 0) & (amount <= most)
    shifted = np.right_shift(x, np.where(fits, amount, most))
    return shifted if x.dtype.kind == "i" else np.where(fits, shifted, 0).astype(x.dtype)


OWN: dict[str, Callable[..., Any]] = {
    "digamma": special.digamma,
    "div": lambda x, y: divide(x, y, "trunc" if x.dtype.kind in "iu" else None),
    "erf": special.erf,
    "erfc": special.erfc,
    "lgamma": special.lgamma,
    "logaddexp": logaddexp,
    "pow": power,
    "reciprocal": lambda x: 1 / x,
    "remainder": floor_mod,
    "round_half_away": round_half_away,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "shift_left": _shift_left,
    "shift_right_arithmetic": _shift_right,
    "sigmoid": sigmoid,
    "sign": sign,
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
}
"""Functions that NumPy lacks, or means otherwise than torch."""

FUNCTIONS: dict[str, Callable[..., Any]] = OWN | {
    row.name: getattr(np, row.numpy) for row in ROWS if row.numpy
}
"""All functions that are computed on arrays at once, on operands of one dtype."""
