"""Primitives that speak of strides, host numbers, or what extern kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from lamina.lowering.prims_to_loop.extern import CALLS, options_of
from lamina.runtime.extern_kernels.binding import call_of
from lamina.runtime.interpreters.aten_ops.registry import Call
from lamina.runtime.interpreters.fourier import transformed
from lamina.runtime.interpreters.values import Array


def _places(a: Call) -> Array:
    """Where the elements of a strided view stand in the row-major tensor."""
    size, strides = a["size"], a["stride"]
    places = np.full(size, a["storage_offset"], np.int64)
    for dim, (extent, stride) in enumerate(zip(size, strides, strict=True)):
        steps = np.arange(extent, dtype=np.int64) * stride
        places += steps.reshape(-1, *(1,) * (len(size) - dim - 1))
    return places


def as_strided(a: Call) -> Array:
    """The elements at those places."""
    return np.ravel(a["a"])[_places(a)]


def as_strided_scatter(a: Call) -> Array:
    """The source at those places."""
    result = np.array(a["self"])
    result.reshape(-1)[_places(a).ravel()] = np.ravel(a["src"])
    return result


def limit_of_dtype(a: Call) -> Any:
    """The largest or the least number of a dtype; infinity of floats."""
    dtype = np.dtype(a["dtype"])
    largest = a.op.name.endswith("maximum_value")
    if dtype.kind == "b":
        return largest
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return int(limits.max if largest else limits.min)
    assert dtype.kind == "f" or dtype == np.dtype(ml_dtypes.bfloat16)
    return np.inf if largest else -np.inf


def extern_call(a: Call) -> list[Array]:
    """By the extern kernel that native code calls."""
    kernel, options = CALLS[a.op.name.removeprefix("prims.")], options_of(a.op)
    results = [result.type for result in a.op.results]
    tensor = a[a.op.schema.args[0].name]
    return call_of(kernel, options, a.op.operand_types, results).run([tensor])


def fourier(a: Call) -> Array:
    """Along one dim by NumPy."""
    flags = {name: a[name] for name in ("inverse", "onesided")}
    x = np.moveaxis(a["a"], a["dim"], -1)
    made = transformed(x, a["kind"], a["size"], a["scale"], **flags)
    return np.moveaxis(made, -1, a["dim"])


FUNCTIONS: dict[str, Callable[[Call], Any]] = {
    "as_strided": as_strided,
    "as_strided_scatter": as_strided_scatter,
    "copy_strided": lambda a: a["a"],
    "device_put": lambda a: a["a"],
    "empty_permuted": lambda a: np.zeros(a.shape, a.dtype),
    "empty_strided": lambda a: np.zeros(a.shape, a.dtype),
    "fill": lambda a: np.full(a.shape, a["value"], a.dtype),
    "fourier": fourier,
    "item": lambda a: a["a"].item(),
    "maximum_value": limit_of_dtype,
    "minimum_value": limit_of_dtype,
} | dict.fromkeys(CALLS, extern_call)
