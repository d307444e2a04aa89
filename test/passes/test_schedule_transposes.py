"""Reads along another dimension than the result's: whole and partly filled tiles, natively."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Build = Any
Execute = Callable[..., list[np.ndarray]]
DTYPES = {"i8": np.int8, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
rng = np.random.default_rng(29)


def sample(shape: tuple[int, ...], element: str) -> np.ndarray:
    return rng.integers(-9, 10, shape).astype(DTYPES[element])


def added(build: Build, shape: tuple[int, int], element: str) -> str:
    """x + y.T for an x of the shape."""
    m, n = shape
    x, y = build.argument((m, n), element), build.argument((n, m), element)
    op = "addf" if element[0] == "f" else "addi"
    body = f"%v = arith.{op} %p0, %p1 : {element}\nloop.yield %v : {element}"
    reads = [(x, "i,j"), (y, "j,i")]
    writes = [("i,j", "store", (m, n), element)]
    return build.text(*build.nest(f"i={m},j={n}", reads, writes, body))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shape", [(16, 16), (8, 9), (17, 31), (64, 7), (33, 80), (67, 129)])
def test_transposed_operand(
    build: Build, execute: Execute, shape: tuple[int, int], element: str
) -> None:
    x, y = sample(shape, element), sample(shape[::-1], element)
    (got,) = execute(added(build, shape, element), x, y)
    np.testing.assert_array_equal(got, x + y.T)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(shape=st.tuples(st.integers(1, 150), st.integers(1, 150)))
def test_transposed_operand_of_any_shape(
    build: Build, execute: Execute, shape: tuple[int, int]
) -> None:
    x, y = sample(shape, "f32"), sample(shape[::-1], "f32")
    (got,) = execute(added(type(build)(), shape, "f32"), x, y)
    np.testing.assert_array_equal(got, x + y.T)


@pytest.mark.parametrize("shape", [(2, 19, 9, 11), (3, 16, 8, 8), (1, 70, 5, 29)])
def test_channels_last(build: Build, execute: Execute, shape: tuple[int, ...]) -> None:
    n, c, h, w = shape
    x = build.argument(shape)
    body = "%v = arith.mulf %p0, %p0 : f32\nloop.yield %v : f32"
    writes = [("n,h,w,c", "store", (n, h, w, c), "f32")]
    (result,) = build.nest(f"n={n},h={h},w={w},c={c}", [(x, "n,c,h,w")], writes, body)
    array = sample(shape, "f32")
    (got,) = execute(build.text(result), array)
    np.testing.assert_array_equal(got, array.transpose(0, 2, 3, 1) ** 2)


def test_several_tasks_share_a_transpose(build: Build, execute: Execute) -> None:
    shape = (1037, 523)
    x, y = sample(shape, "f32"), sample(shape[::-1], "f32")
    (got,) = execute(added(build, shape, "f32"), x, y)
    np.testing.assert_array_equal(got, x + y.T)
