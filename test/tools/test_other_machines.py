"""Object files for other machines give what native code gives, run by qemu where it is installed.

NEON and RISC-V's vectors have 128 bits here, so that tiles, tails and packed panels are others than
on the machine that runs the tests. Sums in another order differ by some units of their terms.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from machine_runs import EMULATORS, missing, run_compiled

import lamina

Array = np.ndarray
_RANDOM = np.random.default_rng(20)


class Case(NamedTuple):
    """`body` computes `%r` of type `result` from `%a`, `%b`, ... of `types`."""

    types: tuple[str, ...]
    result: str
    body: str
    arrays: tuple[Array, ...]
    units: float = 0
    """Units in the last place of f32, for what is a sum of terms of that size, or a function."""

    @property
    def text(self) -> str:
        names = "abcdef"
        arguments = ", ".join(f"%{n}: {t}" for n, t in zip(names, self.types, strict=False))
        lines = "\n".join(f"  {line.strip()}" for line in self.body.strip().splitlines())
        return (
            f"func.func @main({arguments}) -> {self.result} {{\n{lines}\n"
            f"  func.return %r : {self.result}\n}}\n"
        )


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape, np.float32)


def _special(*shape: int) -> Array:
    found = 3 * _floats(*shape)
    found.flat[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -88.7]
    return found


def _pointwise(function: str) -> Case:
    kind = "tensor<7x53xf32>"
    body = f"%r = prims.{function}(%a) : ({kind}) -> {kind}"
    return Case((kind,), kind, body, (_special(7, 53),), units=2)


def _product(rows: int, terms: int, columns: int, element: str = "f32") -> Case:
    left, right, result = (
        f"tensor<{m}x{n}x{element}>" for m, n in ((rows, terms), (terms, columns), (rows, columns))
    )
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}[element]
    return Case(
        (left, right),
        result,
        f"%r = aten.mm.default(%a, %b) : ({left}, {right}) -> {result}",
        (_floats(rows, terms).astype(dtype), _floats(terms, columns).astype(dtype)),
        units={"f32": terms, "f16": 1 << 13, "bf16": 1 << 16}[element],
    )


def _converted(source: str, result: str, array: Array) -> Case:
    types = f"tensor<5x67x{source}>", f"tensor<5x67x{result}>"
    body = f"%r = prims.convert_element_type(%a, {result}) : ({types[0]}) -> {types[1]}"
    return Case((types[0],), types[1], body, (array,))


with np.errstate(over="ignore"):
    _HALVES, _BRAINS = (_special(5, 67).astype(t) for t in (np.float16, ml_dtypes.bfloat16))
_INTS, _DIVISORS = (_RANDOM.integers(*r, (5, 41)).astype(np.int32) for r in ((-999, 999), (1, 9)))

_SOFTMAX = """
%r = aten._softmax.default(%a, dim = 1, half_to_float = false)
  : (tensor<9x130xf32>) -> tensor<9x130xf32>
"""
_NORM = """
%r = aten.layer_norm.default(%a, [130], %b, %c)
  : (tensor<9x130xf32>, tensor<130xf32>, tensor<130xf32>) -> tensor<9x130xf32>
"""
_INTEGERS = """
%0 = aten.mul.Tensor(%a, %b) : (tensor<5x41xi32>, tensor<5x41xi32>) -> tensor<5x41xi32>
%1 = aten.div.Tensor_mode(%0, %b, rounding_mode = "floor")
  : (tensor<5x41xi32>, tensor<5x41xi32>) -> tensor<5x41xi32>
%2 = aten.remainder.Tensor(%1, %b) : (tensor<5x41xi32>, tensor<5x41xi32>) -> tensor<5x41xi32>
%r = aten.bitwise_xor.Tensor(%2, %0) : (tensor<5x41xi32>, tensor<5x41xi32>) -> tensor<5x41xi32>
"""
_CONVOLUTION = """
%r = aten.convolution.default(%a, %b, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  : (tensor<2x8x14x15xf32>, tensor<12x8x3x3xf32>) -> tensor<2x12x14x15xf32>
"""
_DEPTHWISE = """
%r = aten.convolution.default(%a, %b, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 8)
  : (tensor<2x8x14x15xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x7x8xf32>
"""
_EMBEDDING = """
%r = aten.embedding.default(%a, %b) : (tensor<50x20xf32>, tensor<7x3xi64>) -> tensor<7x3x20xf32>
"""
_SORT = """
%0, %r = aten.sort.default(%a, 1) : (tensor<4x75xf32>) -> (tensor<4x75xf32>, tensor<4x75xi64>)
"""
_SCATTER = """
%r = aten.scatter_add.default(%a, 0, %b, %c)
  : (tensor<9xf32>, tensor<30xi64>, tensor<30xf32>) -> tensor<9xf32>
"""
_ATTENTION = """
%r = aten.scaled_dot_product_attention.default(%a, %b, %c, is_causal = true)
  : (tensor<1x2x40x16xf32>, tensor<1x2x40x16xf32>, tensor<1x2x40x16xf32>)
  -> tensor<1x2x40x16xf32>
"""
_TRANSPOSE = """
%0 = aten.t.default(%a) : (tensor<300x75xf32>) -> tensor<75x300xf32>
%r = aten.clone.default(%0) : (tensor<75x300xf32>) -> tensor<75x300xf32>
"""
_COLUMNS = "%r = aten.sum.dim_IntList(%a, [0]) : (tensor<300x75xf32>) -> tensor<75xf32>"
_WIDE = """
%0 = aten.exp.default(%a) : (tensor<6x37xf64>) -> tensor<6x37xf64>
%1 = aten.sin.default(%0) : (tensor<6x37xf64>) -> tensor<6x37xf64>
%r = aten.cumsum.default(%1, 1) : (tensor<6x37xf64>) -> tensor<6x37xf64>
"""
_LOGIC = """
%0 = aten.gt.Tensor(%a, %b) : (tensor<9x130xf32>, tensor<9x130xf32>) -> tensor<9x130xi1>
%r = aten.logical_not.default(%0) : (tensor<9x130xi1>) -> tensor<9x130xi1>
"""
_ROWS, _ROW, _IMAGES = "tensor<9x130xf32>", "tensor<130xf32>", "tensor<2x8x14x15xf32>"
_HEADS, _I32 = "tensor<1x2x40x16xf32>", "tensor<5x41xi32>"

CASES: dict[str, Case] = {
    **{f: _pointwise(f) for f in ("exp", "log", "tanh", "erf", "sin", "rsqrt", "atan", "lgamma")},
    "small product": _product(33, 65, 47),
    "product": _product(128, 256, 96),
    "row by matrix": _product(1, 300, 500),
    "product of bf16": _product(17, 40, 33, "bf16"),
    "product of f16": _product(17, 40, 33, "f16"),
    "softmax": Case((_ROWS,), _ROWS, _SOFTMAX, (_floats(9, 130),), units=130),
    "layer norm": Case(
        (_ROWS, _ROW, _ROW), _ROWS, _NORM, (_floats(9, 130), _floats(130), _floats(130)), units=130
    ),
    "integers": Case((_I32, _I32), _I32, _INTEGERS, (_INTS, _DIVISORS)),
    "convolution": Case(
        (_IMAGES, "tensor<12x8x3x3xf32>"),
        "tensor<2x12x14x15xf32>",
        _CONVOLUTION,
        (_floats(2, 8, 14, 15), _floats(12, 8, 3, 3)),
        units=72,
    ),
    "depthwise": Case(
        (_IMAGES, "tensor<8x1x3x3xf32>"),
        "tensor<2x8x7x8xf32>",
        _DEPTHWISE,
        (_floats(2, 8, 14, 15), _floats(8, 1, 3, 3)),
        units=9,
    ),
    "f32 to f16": _converted("f32", "f16", _special(5, 67)),
    "f32 to bf16": _converted("f32", "bf16", _special(5, 67)),
    "f16 to f32": _converted("f16", "f32", _HALVES),
    "bf16 to f32": _converted("bf16", "f32", _BRAINS),
    "embedding": Case(
        ("tensor<50x20xf32>", "tensor<7x3xi64>"),
        "tensor<7x3x20xf32>",
        _EMBEDDING,
        (_floats(50, 20), _RANDOM.integers(0, 50, (7, 3))),
    ),
    "sort": Case(("tensor<4x75xf32>",), "tensor<4x75xi64>", _SORT, (_floats(4, 75),)),
    "scatter": Case(
        ("tensor<9xf32>", "tensor<30xi64>", "tensor<30xf32>"),
        "tensor<9xf32>",
        _SCATTER,
        (_floats(9), _RANDOM.integers(0, 9, 30), _floats(30)),
        units=30,
    ),
    "attention": Case(
        (_HEADS,) * 3, _HEADS, _ATTENTION, tuple(_floats(1, 2, 40, 16) for _ in "qkv"), units=128
    ),
    "transpose": Case(
        ("tensor<300x75xf32>",), "tensor<75x300xf32>", _TRANSPOSE, (_floats(300, 75),)
    ),
    "sums of columns": Case(
        ("tensor<300x75xf32>",), "tensor<75xf32>", _COLUMNS, (_floats(300, 75),), units=300
    ),
    "f64": Case(
        ("tensor<6x37xf64>",), "tensor<6x37xf64>", _WIDE, (_RANDOM.standard_normal((6, 37)),), 1
    ),
    "bools": Case((_ROWS,) * 2, "tensor<9x130xi1>", _LOGIC, (_floats(9, 130), _floats(9, 130))),
}


def _assert_close(found: Array, expected: Array, units: float) -> None:
    assert found.dtype == expected.dtype
    if found.dtype.kind in "fV":
        found, expected = (x.astype(np.float64) for x in (found, expected))
    unit = units * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(found, expected, rtol=unit, atol=unit if units > 2 else 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", EMULATORS)
def test_what_native_code_gives(target: str, name: str, tmp_path: Path) -> None:
    command = missing(target)
    if command is not None:
        pytest.skip(f"{command} is not installed")
    case = CASES[name]
    inputs = {f"arg{n}": array for n, array in enumerate(case.arrays)}
    (found,) = run_compiled(tmp_path, case.text, target, inputs)
    _assert_close(found, np.asarray(lamina.compile(case.text)(*case.arrays)), case.units)
