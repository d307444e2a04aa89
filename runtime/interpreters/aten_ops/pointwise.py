"""Elementwise ops: operands are brought to the result's dtype, then NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.runtime.interpreters import special
from lamina.runtime.interpreters.aten_ops.registry import FUNCTIONS, Call, interprets
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


def round_half_even(x: Array) -> Array:
    """To the nearest integer, halves to even."""
    return np.round(x)


def sign(x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN. Complex numbers are brought to size 1."""
    return np.where(np.isnan(x), np.zeros_like(x), np.sign(x))


def logaddexp(x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)); of complex numbers the one with the larger real part is taken out."""
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    first = np.real(x) >= np.real(y)
    best, least = np.where(first, x, y), np.where(first, y, x)
    return best + np.log(np.exp(least - best) + 1)


UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "digamma": special.digamma,
    "erf": special.erf,
    "erfc": special.erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "lgamma": special.lgamma,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": round_half_even,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "sign": sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
"""On an operand of the result's dtype."""

PREDICATES: dict[str, Callable[[Any], Any]] = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "isneginf": np.isneginf,
    "isposinf": np.isposinf,
    "logical_not": np.logical_not,
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
}
"""On the operand as it is, giving bools."""

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "atan2": np.arctan2,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "logaddexp": logaddexp,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mul": np.multiply,
    "remainder": floor_mod,
}
"""On operands of the result's dtype."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
"""On operands as they are, giving bools; a number takes the tensor's dtype."""

_NO_SUFFIX = {"atan2", "fmax", "fmin", "hypot", "logaddexp", "maximum", "minimum"}


def _register_tables() -> None:
    for name, function in UNARY.items():
        FUNCTIONS[f"{name}.default"] = lambda a, f=function: f(a.cast("self"))
    for name, function in PREDICATES.items():
        FUNCTIONS[f"{name}.default"] = lambda a, f=function: f(np.asarray(a["self"]))
    for name, function in BINARY.items():
        for overload in ("default",) if name in _NO_SUFFIX else ("Tensor", "Scalar"):
            FUNCTIONS[f"{name}.{overload}"] = lambda a, f=function: f(
                a.cast("self"), a.cast("other")
            )
    for name, function in COMPARISONS.items():
        for overload in ("default",) if name.startswith("logical") else ("Tensor", "Scalar"):
            FUNCTIONS[f"{name}.{overload}"] = lambda a, f=function: f(a["self"], a["other"])


_register_tables()


@interprets("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def add(a: Call) -> Array:
    """self +- alpha * other; on bools `+` is `or`."""
    x, y = a.cast("self"), a.cast("other")
    alpha = a["alpha"]
    y = y if alpha == 1 else (y * np.asarray(alpha).astype(y.dtype))
    return x + y if a.name.startswith("add") else x - y


@interprets("rsub.Tensor", "rsub.Scalar")
def rsub(a: Call) -> Array:
    """other - alpha * self."""
    x = a.cast("self")
    return a.cast("other") - (x if a["alpha"] == 1 else x * np.asarray(a["alpha"]).astype(x.dtype))


@interprets("div.Tensor", "div.Scalar")
def div(a: Call) -> Array:
    """True division."""
    return a.cast("self") / a.cast("other")


@interprets("div.Tensor_mode", "div.Scalar_mode", "floor_divide", "floor_divide.Scalar")
def div_mode(a: Call) -> Array:
    """Division, then nothing, floor or trunc."""
    return divide(a.cast("self"), a.cast("other"), a.get("rounding_mode", "floor"))


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


@interprets("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def pow_(a: Call) -> Array:
    """self ** exponent in the result's dtype."""
    return power(a.cast("self"), a.cast("exponent"))


@interprets("square")
def square(a: Call) -> Array:
    """x * x."""
    x = a.cast("self")
    return x * x


@interprets("relu")
def relu(a: Call) -> Array:
    """max(x, 0), NaN stays."""
    return np.maximum(a.cast("self"), a.dtype.type(0))


@interprets("clamp", "clamp.Tensor", "clamp_min", "clamp_max", "clamp_min.Tensor")
@interprets("clamp_max.Tensor", "hardtanh")
def clamp(a: Call) -> Array:
    """min(max(x, low), high)."""
    x = a.cast("self")
    low, high = ("min_val", "max_val") if a.has("min_val") else ("min", "max")
    if a.get(low) is not None:
        x = np.maximum(x, a.cast(low))
    return x if a.get(high) is None else np.minimum(x, a.cast(high))


@interprets("gelu")
def gelu(a: Call) -> Array:
    """x Phi(x), or its approximation by tanh."""
    x = np.asarray(a["self"]).astype(np.float64)
    if a["approximate"] == "tanh":
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + np.tanh(inner))
    return x * 0.5 * special.erfc(-x * np.sqrt(0.5))


@interprets("silu")
def silu(a: Call) -> Array:
    """x * sigmoid(x)."""
    return a.cast("self") * sigmoid(a.cast("self"))


@interprets("elu")
def elu(a: Call) -> Array:
    """scale * (x, or alpha * expm1(input_scale * x) below 0)."""
    x = a.cast("self")
    low = a["alpha"] * np.expm1(np.minimum(x, 0) * a["input_scale"])
    return a["scale"] * np.where(x <= 0, low, x)


@interprets("leaky_relu")
def leaky_relu(a: Call) -> Array:
    """negative_slope * x below 0."""
    x = a.cast("self")
    return np.where(x > 0, x, x * x.dtype.type(a["negative_slope"]))


@interprets("where.self", "where.Scalar", "where.ScalarOther", "where.ScalarSelf")
def where(a: Call) -> Array:
    """self or other by the condition."""
    return np.where(a["condition"], a.cast("self"), a.cast("other"))


@interprets("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(a: Call) -> Array:
    """value where the mask is true."""
    return np.where(a["mask"], a.cast("value"), a["self"])


@interprets("to.dtype", "to.device", "to.dtype_layout", "to.other", "_to_copy", "type_as")
@interprets("clone", "alias", "detach", "contiguous", "lift_fresh_copy")
def convert(a: Call) -> Array:
    """The first operand in the result's dtype."""
    return convert_dtype(np.asarray(a["self"]), a.dtype)


def convert_dtype(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """A conversion as torch does it: to bool is `!= 0`, to integers towards zero."""
    return x != 0 if dtype == np.bool_ else x.astype(dtype)


@interprets("copy")
def copy(a: Call) -> Array:
    """src in the dtype and shape of self."""
    return np.broadcast_to(convert_dtype(a["src"], a.dtype), a.shape)
