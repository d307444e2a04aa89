"""Arrays and runs for tests of programs of MLIR's linalg."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import lamina

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}


def sample(kind: str, *shape: int, seed: int = 0) -> Array:
    """Numbers of a type; integers are small."""
    rng = np.random.default_rng(seed + sum(shape))
    if kind.startswith("i"):
        return rng.integers(-9, 9, shape).astype(DTYPES[kind])
    return rng.standard_normal(shape).astype(DTYPES[kind])


def run(text: str, *arrays: Array) -> Any:
    """What the compiled program gives; bf16 goes as torch's."""
    return lamina.compile(text)(*arrays)


UNITS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
"""The largest relative distance of two neighbouring numbers of a type."""
