"""Integer division never traps: by zero it is division by one, everywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lamina
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

PROGRAM = """func.func @main(%x: TYPE, %y: TYPE) -> (TYPE, TYPE, TYPE, TYPE) {
  %0 = aten.floor_divide.default(%x, %y) : (TYPE, TYPE) -> TYPE
  %1 = aten.div.Tensor_mode(%x, %y, rounding_mode = "trunc") : (TYPE, TYPE) -> TYPE
  %2 = aten.remainder.Tensor(%x, %y) : (TYPE, TYPE) -> TYPE
  %3 = aten.fmod.Tensor(%x, %y) : (TYPE, TYPE) -> TYPE
  func.return %0, %1, %2, %3 : TYPE, TYPE, TYPE, TYPE
}"""
DTYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "ui8": "u1"}


def _pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of numbers at the edges."""
    limits = np.iinfo(dtype)
    signed = [-1, -2, -7] if limits.min else []
    numbers = np.array([0, 1, 2, 7, limits.min, limits.max, *signed], dtype)
    first, second = np.meshgrid(numbers, numbers)
    return np.ascontiguousarray(first.ravel()), np.ascontiguousarray(second.ravel())


def _expected(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """By Python's integers, and modulo the width as two's complement."""
    bits, dtype = 8 * x.dtype.itemsize, x.dtype
    results: list[list[int]] = [[], [], [], []]
    for a, b in zip(x.tolist(), (y + (y == 0).astype(y.dtype)).tolist(), strict=True):
        truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        for result, number in zip(
            results, (a // b, truncated, a % b, a - truncated * b), strict=True
        ):
            result.append(number % (1 << bits))
    return [np.array(result, f"u{dtype.itemsize}").view(dtype) for result in results]


@pytest.mark.parametrize("element", DTYPES)
def test_all_layers_and_native_code_agree(element: str) -> None:
    x, y = _pairs(DTYPES[element])
    compiled = lamina.compile(PROGRAM.replace("TYPE", f"tensor<{len(x)}x{element}>"), cache=False)
    wanted = _expected(x, y)
    for native, right in zip(compiled(x, y), wanted, strict=True):
        np.testing.assert_array_equal(native, right)
    for layer in LAYERS:
        for made, right in zip(run_module(parse(compiled.ir(layer)), [x, y]), wanted, strict=True):
            np.testing.assert_array_equal(made, right, err_msg=layer)


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64", "riscv64"])
def test_no_target_divides_by_what_was_not_looked_at(target: str, element: str) -> None:
    """Quotients of vectors may be those of floats, or a function's, which divides what it gets."""
    program = PROGRAM.replace("TYPE", f"tensor<99x{element}>")
    text = lamina.compile(program, target=target, cache=False).ir("llvm")
    divisions = 0
    for function in text.split("\ndefine "):
        made = dict(re.findall(r"^  (%v\d+) = (.*)", function, re.M))
        for line in made.values():
            if re.search(r"[sf]div|srem", line):
                divisor = line.rsplit(" ", 1)[1].rstrip(")")
                if made[divisor].startswith("sitofp"):
                    divisor = made[divisor].split(" to ")[0].rsplit(" ", 1)[1]
                assert made[divisor].startswith("select "), line
                divisions += 1
    assert divisions


@pytest.mark.parametrize("op", ["floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar"])
def test_by_the_constant_zero(op: str) -> None:
    text = f"""func.func @main(%x: tensor<5xi32>) -> tensor<5xi32> {{
  %0 = aten.{op}(%x, other = 0) : (tensor<5xi32>) -> tensor<5xi32>
  func.return %0 : tensor<5xi32>
}}"""
    x = np.arange(-2, 3, dtype=np.int32)
    wanted = x if op.startswith("floor") else 0 * x
    np.testing.assert_array_equal(lamina.compile(text, cache=False)(x), wanted)
    np.testing.assert_array_equal(run_module(parse(text), [x])[0], wanted)
