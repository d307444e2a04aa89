"""What a case of a program of JAX is: a function and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

Function = Callable[..., Any]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
COMPLEX = ("complex64", "complex128")
NUMBERS = (*FLOATS, *INTEGERS, *COMPLEX)
ALL = (*NUMBERS, "bool")
SHAPES = ((), (1,), (7,), (3, 5), (2, 3, 17))


@dataclass(frozen=True)
class Case:
    """A function of arrays; `name` says family, type, shape and options."""

    name: str
    function: Function
    args: tuple[Any, ...]


def array(
    kind: str, shape: tuple[int, ...], seed: int = 0, *, low: float = -3, high: float = 3
) -> Any:
    """Numbers of a type between two bounds, the same in every run."""
    rng = np.random.default_rng([seed, *shape])
    if kind == "bool":
        return rng.random(shape) < 0.5
    dtype = jnp.dtype(kind)
    if dtype.kind == "c":
        parts = (rng.uniform(low, high, shape) for _ in "ri")
        real, imag = parts
        return (real + 1j * imag).astype(dtype)
    if dtype.kind in "iu":
        bottom = 0 if dtype.kind == "u" else int(low)
        return rng.integers(bottom, int(high) + 1, shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def case(family: str, function: Function, *args: Any, **options: Any) -> Case:
    """A case whose name says what it is."""
    shown = " ".join(f"{np.asarray(a).dtype}{list(np.shape(a))}" for a in args)
    rest = " ".join(f"{key}={value}" for key, value in options.items())
    return Case(f"{family} {shown} {rest}".strip(), function, args)
