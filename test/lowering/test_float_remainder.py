"""Remainders of floats are exact for every pair of numbers, at every layer and in native code."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

PROGRAM = """func.func @main(%x: TYPE, %y: TYPE) -> (TYPE, TYPE, TYPE) {
  %0 = aten.fmod.Tensor(%x, %y) : (TYPE, TYPE) -> TYPE
  %1 = aten.remainder.Tensor(%x, %y) : (TYPE, TYPE) -> TYPE
  %2 = aten.floor_divide.default(%x, %y) : (TYPE, TYPE) -> TYPE
  func.return %0, %1, %2 : TYPE, TYPE, TYPE
}"""
DTYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def _pairs(dtype: np.dtype, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Any bits beside any bits and beside near numbers, and all pairs of special values."""
    rng, limits = np.random.default_rng(5), np.finfo(dtype)
    any_bits = np.frombuffer(rng.bytes(3 * count * dtype.itemsize), dtype)
    near = any_bits[:count] / (1 + np.abs(rng.standard_normal(count)) * 1e3).astype(dtype)
    sizes = [0, 1, 1.5, 3, 0.1, 1e15, limits.max, limits.tiny, limits.smallest_subnormal, np.inf]
    special = np.array([*sizes, *(-x for x in sizes[1:]), -0.0, np.nan], dtype)
    first, second = (x.ravel() for x in np.meshgrid(special, special))
    x = np.concatenate([any_bits[:count], any_bits[count : 2 * count], first])
    return x, np.concatenate([near, any_bits[2 * count :], second])


def _expected(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """C's fmod, and torch's formulas of it (c10/util/generic_math.h) one number at a time."""
    rest = np.fmod(x, y)
    opposite = (rest != 0) & (np.signbit(rest) != np.signbit(y))
    floors = (x - rest) / y - opposite.astype(x.dtype)
    whole = np.floor(floors)
    whole = np.where(floors - whole > 0.5, whole + 1, whole)
    whole = np.where(floors == 0, np.copysign(x.dtype.type(0), x / y), whole)
    return [rest, np.where(opposite, rest + y, rest), np.where(y == 0, x / y, whole)]


def _same(made: np.ndarray, right: np.ndarray, what: str) -> None:
    np.testing.assert_array_equal(made, right, err_msg=what)
    numbers = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(made[numbers]), np.signbit(right[numbers]), what)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_native_code(element: str, target: str) -> None:
    if not Target.parse(target).runs_here():
        pytest.skip(f"this CPU has not all of {target}")
    x, y = _pairs(DTYPES[element], 20000)
    text = PROGRAM.replace("TYPE", f"tensor<{len(x)}x{element}>")
    made = lamina.compile(text, target=target, cache=False)(x, y)
    for native, right in zip(made, _expected(x, y), strict=True):
        _same(native, right, target)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_layers(element: str) -> None:
    x, y = _pairs(DTYPES[element], 50)
    text = PROGRAM.replace("TYPE", f"tensor<{len(x)}x{element}>")
    compiled, wanted = lamina.compile(text, cache=False), _expected(x, y)
    for layer in LAYERS:
        for made, right in zip(run_module(parse(compiled.ir(layer)), [x, y]), wanted, strict=True):
            _same(made, right, layer)
