"""Vector math that gives 0 far below the least number, and makes no subnormal number for it.

Processors of Intel take 150 cycles for each vector in which a result is subnormal or rounded to 0
from there, ten times what a masked softmax takes otherwise.
"""

import ctypes
from collections.abc import Callable
from time import thread_time

import numpy as np
import pytest

from lamina.codegen.target import Target

FE_UNDERFLOW = 0x10
"""Of an x86-64's C library."""

FAR = {"exp": -1.0, "exp2": -1.0, "exp_flushed": -1.0, "sigmoid": -1.0, "erfc": 1.0, "pow": 1.0}
"""The sign of arguments whose results vanish."""

LIMITS = [("sigmoid", 1, 1), ("erfc", -1, 2)]
"""Functions that end at a number for arguments of a sign."""

VectorFunction = Callable[..., Callable[..., np.ndarray]]


@pytest.fixture
def flagged() -> Target:
    """A target whose instructions raise a flag for what is rounded to 0, and for nothing else."""
    found = Target.parse("x86-64-v3")
    if not found.runs_here():
        pytest.skip("another processor's flags")
    return found


def underflows(call: Callable[[], np.ndarray]) -> tuple[bool, np.ndarray]:
    library = ctypes.CDLL(None)
    library.feclearexcept(FE_UNDERFLOW)
    result = call()
    return bool(library.fetestexcept(FE_UNDERFLOW)), result


def lanes_of(dtype: str, target: Target) -> int:
    return target.lanes(8 * np.dtype(dtype).itemsize)


def operands(stem: str, x: np.ndarray) -> list[np.ndarray]:
    return [np.full_like(x, 0.3), x] if stem == "pow" else [x]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem", FAR)
def test_nothing_is_rounded_to_0(
    stem: str, dtype: str, flagged: Target, vector_function: VectorFunction
) -> None:
    far = np.resize(np.array([1e4, np.inf, 1e30, 6000], dtype), 16)
    arrays = operands(stem, far * np.dtype(dtype).type(FAR[stem]))
    function = vector_function(stem, dtype, lanes_of(dtype, flagged), flagged)
    rounded, result = underflows(lambda: function(*arrays))
    np.testing.assert_array_equal(result, 0)
    assert not rounded


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem, sign, limit", LIMITS)
def test_nor_beside_a_limit(
    stem: str,
    sign: int,
    limit: int,
    dtype: str,
    flagged: Target,
    vector_function: VectorFunction,
) -> None:
    x = np.resize(np.array([95, 100, 745, 800, np.inf, 1e30], dtype), 16) * sign
    function = vector_function(stem, dtype, lanes_of(dtype, flagged), flagged)
    rounded, result = underflows(lambda: function(x.astype(dtype)))
    np.testing.assert_array_equal(result, limit)
    assert not rounded


def test_the_flag_tells_of_subnormal_numbers(
    flagged: Target, vector_function: VectorFunction
) -> None:
    function = vector_function("exp", "float64", flagged.lanes(64), flagged)
    rounded, result = underflows(lambda: function(np.full(16, -740.1)))
    assert rounded and np.all((result > 0) & (result < np.finfo("float64").tiny))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem", FAR)
def test_infinities_take_no_longer(
    stem: str, dtype: str, target: Target, vector_function: VectorFunction
) -> None:
    """Where the instruction that scales raises the flag without taking longer, time tells."""
    function = vector_function(stem, dtype, lanes_of(dtype, target), target)

    def least(x: float) -> float:
        arrays = operands(stem, np.full(16384, x, dtype))
        taken: list[float] = []
        for _ in range(30):
            begin = thread_time()
            function(*arrays)
            taken.append(thread_time() - begin)
        return min(taken)

    assert least(FAR[stem] * np.inf) < 3 * least(FAR[stem] * 1.5)
