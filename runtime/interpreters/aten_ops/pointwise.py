"""Elementwise ops: operands are brought to the result's dtype, then NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.dialects.elementwise import ROWS, Elementwise
from lamina.runtime.interpreters import array_functions, special
from lamina.runtime.interpreters.array_functions import divide, power, sigmoid
from lamina.runtime.interpreters.aten_ops.registry import FUNCTIONS, Call, interprets
from lamina.runtime.interpreters.values import Array


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


@interprets("div.Tensor_mode", "div.Scalar_mode", "floor_divide", "floor_divide.Scalar")
def div_mode(a: Call) -> Array:
    """Division, then nothing, floor or trunc."""
    return divide(a.cast("self"), a.cast("other"), a.get("rounding_mode", "floor"))


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
    """0 below 0; NaN and -0.0 stay."""
    x = a.cast("self")
    return np.where(x < 0, a.dtype.type(0), x)


@interprets("clamp", "clamp.Tensor", "clamp_min", "clamp_max", "clamp_min.Tensor")
@interprets("clamp_max.Tensor", "hardtanh")
def clamp(a: Call) -> Array:
    """min(max(x, low), high); a zero of x stays as it is, where np.maximum may give the bound's."""
    x = a.cast("self")
    low, high = ("min_val", "max_val") if a.has("min_val") else ("min", "max")
    if a.get(low) is not None:
        least = a.cast(low)
        x = np.where((x < least) | np.isnan(least), least, x)
    if a.get(high) is not None:
        most = a.cast(high)
        x = np.where((x > most) | np.isnan(most), most, x)
    return x


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
    below = np.where(x <= 0, x, x.dtype.type(0))  # np.minimum may lose the sign of -0.0
    low = a["alpha"] * np.expm1(below * a["input_scale"])
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


def _elementwise(row: Elementwise, function: Callable[..., Any]) -> Callable[[Call], Array]:
    """A function on operands of the result's dtype.

    Predicates take operands as they are; a number takes the tensor's dtype.
    """
    if row.is_predicate:
        if row.operands == 1:
            return lambda a: function(np.asarray(a["self"]))
        return lambda a: function(a["self"], a["other"])
    if row.operands == 1:
        return lambda a: function(a.cast("self"))
    return lambda a: function(a.cast("self"), a.cast("other"))


def _register_elementwise() -> None:
    """All functions of arrays, but for ops that have a function above."""
    for row in ROWS:
        if row.name in array_functions.FUNCTIONS:
            function = _elementwise(row, array_functions.FUNCTIONS[row.name])
            for name in row.overload_names:
                FUNCTIONS.setdefault(name, function)


_register_elementwise()
