"""Elementwise ops of lax, over types, shapes and special numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jax import lax
from stablehlo_case import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHAPES,
    SIGNED,
    Case,
    Function,
    array,
    case,
)

UNARY: dict[str, tuple[Function, tuple[str, ...], float, float]] = {
    "abs": (lax.abs, (*FLOATS, *SIGNED, *COMPLEX), -3, 3),
    "acos": (lax.acos, FLOATS, -1, 1),
    "acosh": (lax.acosh, FLOATS, 1, 3),
    "asin": (lax.asin, FLOATS, -1, 1),
    "asinh": (lax.asinh, FLOATS, -3, 3),
    "atan": (lax.atan, FLOATS, -3, 3),
    "atanh": (lax.atanh, FLOATS, -0.9, 0.9),
    "bessel_i0e": (lax.bessel_i0e, FLOATS, -3, 3),
    "bessel_i1e": (lax.bessel_i1e, FLOATS, -3, 3),
    "cbrt": (lax.cbrt, FLOATS, -3, 3),
    "ceil": (lax.ceil, FLOATS, -3, 3),
    "clz": (lax.clz, INTEGERS, 0, 100),
    "conj": (lax.conj, COMPLEX, -3, 3),
    "cos": (lax.cos, (*FLOATS, *COMPLEX), -3, 3),
    "cosh": (lax.cosh, (*FLOATS, *COMPLEX), -3, 3),
    "digamma": (lax.digamma, FLOATS, 0.5, 5),
    "erf": (lax.erf, FLOATS, -3, 3),
    "erf_inv": (lax.erf_inv, FLOATS, -0.9, 0.9),
    "erfc": (lax.erfc, FLOATS, -3, 3),
    "exp": (lax.exp, (*FLOATS, *COMPLEX), -3, 3),
    "exp2": (lax.exp2, FLOATS, -3, 3),
    "expm1": (lax.expm1, FLOATS, -3, 3),
    "floor": (lax.floor, FLOATS, -3, 3),
    "imag": (lax.imag, COMPLEX, -3, 3),
    "is_finite": (lax.is_finite, FLOATS, -3, 3),
    "lgamma": (lax.lgamma, FLOATS, 0.5, 5),
    "log": (lax.log, (*FLOATS, *COMPLEX), 0.1, 5),
    "log1p": (lax.log1p, FLOATS, -0.9, 5),
    "logistic": (lax.logistic, FLOATS, -5, 5),
    "neg": (lax.neg, NUMBERS, -3, 3),
    "not": (lax.bitwise_not, (*INTEGERS, "bool"), -3, 3),
    "population_count": (lax.population_count, INTEGERS, -100, 100),
    "real": (lax.real, COMPLEX, -3, 3),
    "round_away": (lambda x: lax.round(x), FLOATS, -3, 3),
    "round_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), FLOATS, -3, 3),
    "rsqrt": (lax.rsqrt, FLOATS, 0.1, 5),
    "sign": (lax.sign, NUMBERS, -3, 3),
    "sin": (lax.sin, (*FLOATS, *COMPLEX), -3, 3),
    "sinh": (lax.sinh, (*FLOATS, *COMPLEX), -3, 3),
    "sqrt": (lax.sqrt, (*FLOATS, *COMPLEX), 0, 5),
    "tan": (lax.tan, (*FLOATS, *COMPLEX), -1, 1),
    "tanh": (lax.tanh, (*FLOATS, *COMPLEX), -3, 3),
}

BINARY: dict[str, tuple[Function, tuple[str, ...]]] = {
    "add": (lax.add, NUMBERS),
    "and": (lax.bitwise_and, (*INTEGERS, "bool")),
    "atan2": (lax.atan2, FLOATS),
    "div": (lax.div, NUMBERS),
    "eq": (lax.eq, ALL),
    "ge": (lax.ge, (*FLOATS, *INTEGERS, "bool")),
    "gt": (lax.gt, (*FLOATS, *INTEGERS, "bool")),
    "le": (lax.le, (*FLOATS, *INTEGERS, "bool")),
    "lt": (lax.lt, (*FLOATS, *INTEGERS, "bool")),
    "max": (lax.max, (*FLOATS, *INTEGERS, "bool")),
    "min": (lax.min, (*FLOATS, *INTEGERS, "bool")),
    "mul": (lax.mul, NUMBERS),
    "ne": (lax.ne, ALL),
    "nextafter": (lax.nextafter, ("float32", "float64")),
    "or": (lax.bitwise_or, (*INTEGERS, "bool")),
    "pow": (lambda x, y: lax.pow(lax.abs(x), y), ("float32", "float64", "float16", "bfloat16")),
    "rem": (lax.rem, (*FLOATS, *INTEGERS)),
    "shift_left": (lax.shift_left, INTEGERS),
    "shift_right_arithmetic": (lax.shift_right_arithmetic, INTEGERS),
    "shift_right_logical": (lax.shift_right_logical, INTEGERS),
    "sub": (lax.sub, NUMBERS),
    "xor": (lax.bitwise_xor, (*INTEGERS, "bool")),
}


def unary() -> Iterator[Case]:
    """Each function over its types; shapes in turn."""
    for name, (function, kinds, low, high) in UNARY.items():
        for place, kind in enumerate(kinds):
            shape = SHAPES[place % len(SHAPES)]
            yield case(name, function, array(kind, shape, low=low, high=high))
        if "float32" in kinds:
            special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38], np.float32)
            yield case(name, function, special, values="special")


def binary() -> Iterator[Case]:
    """Each function over its types; zeros among divisors."""
    for name, (function, kinds) in BINARY.items():
        for place, kind in enumerate(kinds):
            shape = SHAPES[place % len(SHAPES)]
            yield case(name, function, array(kind, shape, 1), array(kind, shape, 2))
    for kind in SIGNED:
        most = np.iinfo(kind)
        x = np.array([most.min, most.max, -7, 7], kind)
        for name in ("div", "rem"):
            yield case(name, BINARY[name][0], x, np.array([-1, -1, 0, 2], kind), values="edges")


def conversions() -> Iterator[Case]:
    """Between types, of numbers that fit and of some that do not."""
    kinds = (
        "float32",
        "bfloat16",
        "float16",
        "int8",
        "int32",
        "uint8",
        "uint32",
        "bool",
        "complex64",
    )
    for given in kinds:
        for to in kinds:
            if given == "complex64" and to != "complex64":
                continue
            yield case(
                "convert",
                lambda x, to=to: lax.convert_element_type(x, to),
                array(given, (9,)),
                to=to,
            )
    far = np.array([1e10, -1e10, np.nan, np.inf, -np.inf, 2.5, -2.5], np.float32)
    for to in ("int8", "int32", "uint8", "uint32", "int64"):
        yield case("convert", lambda x, to=to: lax.convert_element_type(x, to), far, to=to, far=1)
    for given, to in (("float32", "int32"), ("uint16", "bfloat16"), ("float64", "uint64")):
        yield case(
            "bitcast", lambda x, to=to: lax.bitcast_convert_type(x, to), array(given, (5,)), to=to
        )
    for bits in ((5, 10), (8, 7), (8, 23)):
        yield case(
            "reduce_precision",
            lambda x, b=bits: lax.reduce_precision(x, *b),
            array("float32", (9,)),
            to=bits,
        )
